import type { ReactNode } from 'react'
import type { TimelineRow } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import { type PaymentMoney, sharesOf } from '../../values/payment-money.ts'
import { Amount } from '../parts/values.tsx'

const NAMES = ['paid', 'refunded', 'refunding', 'charged_back', 'remaining'] as const

/** How much of a payment was paid, went back, and can still be refunded. */
export function Money({
  payment,
  rows,
}: {
  readonly payment: Payment
  readonly rows: readonly TimelineRow[]
}): ReactNode {
  const money = sharesOf(payment, rows)
  if (money === undefined) return null
  return (
    <section>
      <h2>Money</h2>
      <Bar {...money} />
      <dl className="facts">
        {NAMES.filter((name) => name === 'paid' || name === 'remaining' || money[name] !== 0n).map((name) => (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd>
              <Amount>
                {{ $typeName: 'multihub.common.v1.Money', minor: money[name], currency: money.currency }}
              </Amount>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Bar({ paid, refunded, refunding, charged_back }: PaymentMoney): ReactNode {
  if (paid === 0n) return null
  const width = (part: bigint) => ({ width: `${(Number(part) / Number(paid)) * 100}%` })
  return (
    <div className="money-bar" aria-hidden="true">
      <span className="bad" style={width(charged_back)} />
      <span className="plain" style={width(refunded)} />
      <span className="waiting" style={width(refunding)} />
    </div>
  )
}
