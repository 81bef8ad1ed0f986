import { useParams } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type GetTimelineResponse, TimelineService } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type Payment, PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { valueText } from '#lib/contract/shown-values.ts'
import { payment_acts } from '../../forms/money.ts'
import { revealPayment } from '../../forms/reveal.ts'
import { withRevealed } from '../../values/payment-rows.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { MerchantZone } from '../parts/merchant-zone.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Id, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Age, Amount, Facts, State, Time } from '../parts/values.tsx'
import { Money } from './payment-money.tsx'
import { Attempts, Callbacks, Entries } from './payment-panels.tsx'
import { NextSteps, Timeline } from './payment-timeline.tsx'

/** What happened to a payment, how it stands, and what comes next. */
export function PaymentPage(): ReactNode {
  const { payment_id = '' }: { readonly payment_id?: string } = useParams({ strict: false })
  // What was revealed of one payment is not left for the next one.
  return <OnePayment key={payment_id} payment_id={payment_id} />
}

function OnePayment({ payment_id }: { readonly payment_id: string }): ReactNode {
  const { data, error } = useRpc(TimelineService.method.getTimeline, { paymentId: payment_id })
  // What was revealed stays on this page only, and is not read again: each reading is audited.
  const [revealed, setRevealed] = useState<GetTimelineResponse>()
  const live = data?.payment
  // What was erased meanwhile is not shown any longer.
  const shown = live?.eraseTime === undefined ? revealed : undefined
  const payment = live && shown?.payment ? withPerson(live, shown.payment) : live
  useTitle(payment === undefined ? 'Payment' : `${payment.cId} payment`)
  if (data === undefined || payment === undefined)
    return error === null ? <p className="quiet">Reading…</p> : <ProblemNote error={error} />
  const { pending, unavailable, incompleteKinds } = data
  return (
    <MerchantZone merchant_id={payment.merchantId}>
      {error !== null && <ProblemNote error={error} />}
      <Head payment={payment} reveal={setRevealed} is_revealed={shown !== undefined} />
      {unavailable.length > 0 && (
        <p className="note waiting">{unavailable.join(', ')} did not answer: these rows are missing.</p>
      )}
      {incompleteKinds.length > 0 && (
        <p className="note waiting">
          There are more rows of: {incompleteKinds.join(', ').replaceAll('_', ' ')}.
        </p>
      )}
      <NextSteps steps={pending} unavailable={unavailable} />
      <div className="payment">
        <Timeline rows={shown === undefined ? data.rows : withRevealed(data.rows, shown.rows)} />
        <aside>
          <Money payment={payment} rows={data.rows} />
          <Attempts rows={data.rows} />
          <Entries rows={data.rows} />
          <Callbacks rows={data.rows} />
          <section>
            <h2>Details</h2>
            <Facts desc={PaymentSchema} message={payment} without={SHOWN_ELSEWHERE} />
          </section>
        </aside>
      </div>
    </MerchantZone>
  )
}

/** The payment as it was last read, with the persons as they were revealed. */
function withPerson(live: Payment, { details, receiver, redirect }: Payment): Payment {
  return {
    ...live,
    ...(details && { details }),
    ...(receiver && { receiver }),
    ...(redirect && { redirect }),
  }
}

/** The fields that the head of the page, the timeline or the part about money shows. */
const SHOWN_ELSEWHERE = [
  'payment_id',
  'c_id',
  'merchant_id',
  'amount',
  'status',
  'history',
  'operations',
  'direction',
  'create_time',
]

function Head({
  payment,
  reveal,
  is_revealed,
}: {
  readonly payment: Payment
  readonly reveal: (answer: GetTimelineResponse) => void
  readonly is_revealed: boolean
}): ReactNode {
  const { direction, amount, cId, merchantId, paymentId, createTime } = payment
  const acts = [...(is_revealed ? [] : [revealPayment(reveal)]), ...payment_acts]
  return (
    <header className="head">
      <h1>
        {direction === Direction.OUT ? 'Payout' : 'Deposit'} <Amount>{amount}</Amount>{' '}
        <State word={statusWord(payment)} />
      </h1>
      <ActBar acts={acts} item={payment} />
      <p>
        <Text>{cId}</Text> · merchant <Id kind="merchant">{merchantId}</Id> · payment <Id>{paymentId}</Id> ·
        created <Time>{createTime}</Time> (<Age>{createTime}</Age>)
      </p>
    </header>
  )
}

function statusWord({ status }: Payment): string {
  return valueText(PaymentSchema.field.status, status, { is_minor: false })
}
