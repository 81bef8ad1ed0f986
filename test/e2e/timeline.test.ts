import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type Operator, operatorOf } from '../support/operator.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type SystemHere, startHere } from '../support/system.ts'

/** A row of a timeline as JSON. */
interface Row {
  readonly time: string
  readonly kind: string
  readonly title: string
  readonly data: Readonly<Record<string, unknown>>
}

let system: SystemHere
let alpha: MerchantClient
let operator: Operator
let receiver: Receiver
beforeAll(async () => {
  let failures = 0
  receiver = await startReceiver((_count, { body }) => {
    if (!body.id.endsWith(':payment.created') || failures === 2) return { status: 200 }
    failures += 1
    return { status: 500 }
  })
  system = await startHere({ MULTIHUB_SCANNER: 'none' })
  alpha = merchantClient(system.demo)
  operator = operatorOf(system.demo())
  await operator('multihub.merchants.v1.EndpointService/CreateEndpoint', {
    merchantId: alpha.merchant.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    url: receiver.url,
    events: [...PAYMENT_EVENTS, ...SUPPORT_EVENTS],
    maxRetries: 3,
    retryDelaySeconds: 1,
  })
})
afterAll(async () => {
  await system?.end()
  await receiver?.stop()
})

const SUPPORT = 'multihub.support.v1'

// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a timeline
type Timeline = any

/** Reads a timeline, whatever changes at the time, and checks that each step is there once and none is before an earlier one. */
async function timelineOf(paymentId: string): Promise<Timeline> {
  const timeline = await operator('multihub.backoffice.v1.TimelineService/GetTimeline', { paymentId })
  const rows: readonly Row[] = timeline.rows
  const times = rows.map(({ time }) => Date.parse(time))
  expect(times).toEqual([...times].sort((a, b) => a - b))
  const steps = rows.map(({ kind, title, data }) => JSON.stringify([kind, title, data]))
  expect(new Set(steps).size).toBe(steps.length)
  expect([timeline.unavailable, timeline.incompleteKinds]).toEqual([[], []])
  return timeline
}

/** Reads a timeline again and again until it has a row of this kind with these facts. */
const waitForRow = (paymentId: string, kind: string, facts: object): Promise<Timeline> =>
  eventually(
    () => timelineOf(paymentId),
    (timeline) =>
      (timeline?.rows ?? []).some(
        (row: Row) =>
          row.kind === kind && Object.entries(facts).every(([name, value]) => row.data[name] === value),
      ),
  )

/** The titles of a kind, without what differs between two runs. */
const titlesOf = ({ rows }: Timeline, kind: string): string[] =>
  rows
    .filter((row: Row) => row.kind === kind)
    .map(({ title }: Row) => title.replaceAll(/ after \d+ ms/g, '').replaceAll(/ to 127\.0\.0\.1:\d+/g, ''))

async function requestRefund(c_id: string, value: number): Promise<string> {
  const { body } = await alpha.call({
    method: 'refund.request',
    params: { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: `${value}` },
  })
  return body.result.identifiers.h_id
}

// O7, O18
test('a payment that failed over, was refunded in parts, charged back, called back again and corrected shows every step once', async () => {
  const { c_id, body } = await alpha.deposit(100_000, { route: { purpose: 'failover' } })
  const h_id: string = body.result.payment.identifiers.h_id
  const processing = await timelineOf(h_id)
  expect(processing.next).toMatchObject({ waitsFor: 'system', time: expect.any(String) })
  await alpha.finalPayment(c_id)
  for (const value of [30_000, 20_000]) {
    const refundId = await requestRefund(c_id, value)
    expect((await waitForRow(h_id, 'refund', { refund_id: refundId })).next).toMatchObject({
      title: `Refund of ${value / 100}.00 INR waits for the operator's decision`,
      waitsFor: 'operator',
      refs: [{ kind: 'refund', id: refundId }],
    })
    await operator(`${SUPPORT}.RefundService/ApproveRefund`, { refundId })
    await waitForRow(h_id, 'refund', { refund_id: refundId, step: 'completed' })
  }
  const { chargeback } = await operator(`${SUPPORT}.ChargebackService/OpenChargeback`, {
    paymentId: h_id,
    amount: { minor: '10000', currency: 'INR' },
    reasonCode: '10.4',
  })
  await operator('multihub.balances.v1.BalanceService/Adjust', {
    merchantId: alpha.merchant.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    currency: 'INR',
    amount: { minor: '500', currency: 'INR' },
    reason: 'fee returned',
    operationId: randomUUID(),
    paymentId: h_id,
  })
  await waitForRow(h_id, 'delivery', { event: 'chargeback.created' })
  await waitForRow(h_id, 'delivery', { event: 'payment.created', number: 3 })
  const timeline = await timelineOf(h_id)

  expect(timeline.next).toEqual({
    title:
      'Chargeback of 100.00 INR waits for evidence: the merchant sends it in a ticket, the operator adds it',
    waitsFor: 'merchant',
    refs: [{ kind: 'chargeback', id: chargeback.chargebackId }],
  })
  expect(titlesOf(timeline, 'status')).toEqual([
    'Payment created: deposit of 1,000.00 INR by upi',
    'Payment is processing: the provider has not decided yet',
    'Payment succeeded',
    'Payment is refunded in part: 300.00 INR went back',
    'Payment is refunded in part: 200.00 INR went back',
  ])
  expect(titlesOf(timeline, 'attempt')).toEqual([
    'Attempt 1 at sandbox-down: not sent (refused),',
    'Attempt 2 at sandbox: accepted, not decided yet (HTTP 200),',
    'Refund sent to sandbox: paid (HTTP 200),',
    'Refund sent to sandbox: paid (HTTP 200),',
  ])
  expect(titlesOf(timeline, 'provider_report')).toEqual(['Provider called back about attempt 2: paid'])
  expect(titlesOf(timeline, 'refund')).toEqual(
    ['300.00', '200.00'].flatMap((amount) => [
      `Refund of ${amount} INR was requested`,
      `Refund of ${amount} INR was approved: its funds are held`,
      `Refund of ${amount} INR was completed: the customer has the money back`,
    ]),
  )
  expect(titlesOf(timeline, 'chargeback')).toEqual(['Chargeback of 100.00 INR was opened (reason 10.4)'])
  expect(titlesOf(timeline, 'operator_act')).toEqual([
    'demonstration called RefundService/ApproveRefund: done',
    'demonstration called RefundService/ApproveRefund: done',
    'demonstration called ChargebackService/OpenChargeback: done',
    'demonstration called BalanceService/Adjust: done. Reason: fee returned',
  ])
  expect(
    titlesOf(timeline, 'ledger_entry').map((title) => title.replace(/\. Available after.*/, '')),
  ).toEqual([
    'Ledger: 1,000.00 INR from clearing to available (deposit)',
    'Ledger: 300.00 INR held for the refund',
    'Ledger: 300.00 INR that was held has been taken',
    'Ledger: 200.00 INR held for the refund',
    'Ledger: 200.00 INR that was held has been taken',
    'Ledger: 100.00 INR from available to chargebacks (chargeback)',
    'Ledger: 5.00 INR from adjustments to available (fee returned)',
  ])
  const once = [
    'payment.created',
    'payment.completed',
    'payment.refunded',
    'payment.refunded',
    'refund.requested',
    'refund.requested',
    ...['approved', 'approved', 'completed', 'completed'].map(
      (status) => `refund.status_changed (${status})`,
    ),
    'chargeback.created',
  ]
  expect(titlesOf(timeline, 'event').sort()).toEqual(once.map((event) => `Event ${event} goes`).sort())
  const tries = once.map((event) => `Callback ${event.split(' ')[0]}, try 1: delivered (HTTP 200)`)
  const created = ['try 1: failed (HTTP 500)', 'try 2: failed (HTTP 500)', 'try 3: delivered (HTTP 200)']
  expect(titlesOf(timeline, 'delivery').sort()).toEqual(
    [...tries.slice(1), ...created.map((result) => `Callback payment.created, ${result}`)].sort(),
  )
  expect(timeline.payment.hId).toBe(h_id)
})
