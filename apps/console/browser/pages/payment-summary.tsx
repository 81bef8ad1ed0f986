import type { ReactNode } from 'react'
import { TimelineService } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { valueText } from '#lib/contract/shown-values.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { Amount, State, Time } from '../parts/values.tsx'
import { Money } from './payment-money.tsx'

const EVERY_MS = 5_000
/** The newest rows of the timeline; the page of the payment has all. */
const ROWS_MAX = 5

/** The payment that a refund, a chargeback or a ticket is about: how it stands, its money, and what happened to it last. */
export function PaymentSummary({ payment_id: paymentId }: { readonly payment_id: string }): ReactNode {
  const { data, error } = useRpc(TimelineService.method.getTimeline, { paymentId }, { every_ms: EVERY_MS })
  const payment = data?.payment
  if (data === undefined || payment === undefined) return error && <ProblemNote error={error} />
  const { direction, amount, status, cId } = payment
  return (
    <section aria-label="Payment">
      <h3>Payment</h3>
      <p>
        <PageLink to={{ path: `/payments/${encodeURIComponent(paymentId)}` }}>
          {direction === Direction.OUT ? 'Payout' : 'Deposit'} <Amount>{amount}</Amount>
        </PageLink>{' '}
        <State word={valueText(PaymentSchema.field.status, status, { is_minor: false })} /> <Text>{cId}</Text>
      </p>
      <Money payment={payment} rows={data.rows} />
      <ol className="plain">
        {data.rows.slice(-ROWS_MAX).map(({ time, title }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id, and are in order
          <li key={index}>
            <small className="quiet">
              <Time>{time}</Time>
            </small>{' '}
            <Text>{title}</Text>
          </li>
        ))}
      </ol>
    </section>
  )
}
