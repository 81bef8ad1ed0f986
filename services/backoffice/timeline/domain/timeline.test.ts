import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { PendingWorkSchema } from '#gen/multihub/common/v1/pending_work_pb.ts'
import { DeliverySchema, DeliveryStatus, DeliveryTrouble } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { ExplainPaymentResponseSchema } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { GetPaymentSupportResponseSchema } from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { CommentAuthor } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { TicketCategory, TicketPriority, TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { propertyRuns } from '../../../../test/support/property-runs.ts'
import { callbackRows } from './callback-rows.ts'
import { paymentRows } from './payment-rows.ts'
import { pendingSteps } from './pending-steps.ts'
import { supportRows } from './support-rows.ts'
import { mergeRows, moneyText, type TimelineRow } from './timeline-row.ts'

const at = (ms: number) => timestampFromDate(new Date(Date.UTC(2026, 10, 28, 12) + ms))
const money = { minor: 4_000n, currency: 'INR' }

const OPERATOR = { is_merchant: false, reveal: false }
const MERCHANT = { is_merchant: true, reveal: true }

const titles = (rows: readonly { readonly title: string }[]): string[] => rows.map(({ title }) => title)

describe('the merge', () => {
  const row = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    time: fc.integer({ min: 0, max: 3 }).map((ms) => new Date(ms)),
    order: fc.integer({ min: 0, max: 2 }),
  })
  const rows = fc
    .array(row, { maxLength: 12 })
    .map((some) =>
      some.map((one): TimelineRow => ({ ...one, kind: 'status', title: one.key, refs: [], data: {} })),
    )

  // O7
  test('shows each step once, in the order of time and then of cause', () => {
    fc.assert(
      fc.property(rows, (some) => {
        const merged = mergeRows(some)
        expect(new Set(merged.map(({ key }) => key)).size).toBe(merged.length)
        expect(new Set(merged.map(({ key }) => key))).toEqual(new Set(some.map(({ key }) => key)))
        for (const [index, { time, order }] of merged.entries()) {
          const next = merged[index + 1]
          if (next === undefined) continue
          expect(time <= next.time).toBe(true)
          if (time.getTime() === next.time.getTime()) expect(order).toBeLessThanOrEqual(next.order)
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })

  // O7
  test('is the same in whatever order the sources answer', () => {
    const unique = fc.uniqueArray(row, { selector: ({ key }) => key })
    fc.assert(
      fc.property(
        unique.chain((some) =>
          fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
        ),
        ([some, shuffled]) => {
          const full = (one: (typeof some)[number]): TimelineRow => ({
            ...one,
            kind: 'status',
            title: '',
            refs: [],
            data: {},
          })
          expect(mergeRows(shuffled.map(full))).toEqual(mergeRows(some.map(full)))
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })
})

test.each([
  [12_345n, 'INR', '123.45 INR'],
  [-5n, 'INR', '-0.05 INR'],
  [123_456n, 'INR', '1,234.56 INR'],
  [7n, 'JPY', '7 JPY'],
  [0n, '', '0'],
])('%s minor units of %s are shown as %s', (minor, currency, text) => {
  expect(moneyText({ minor, currency })).toBe(text)
})

const anomalous = create(ExplainPaymentResponseSchema, {
  attempts: [
    {
      number: 1,
      accountId: 'acme-1',
      outcome: 'unknown',
      durationMs: 30_000,
      createTime: at(0),
      reason: 'time-out',
    },
  ],
  refunds: [
    {
      refundId: 'r-1',
      amount: money,
      status: RefundStatus.FAILED,
      createTime: at(10),
      approveTime: at(20),
      endTime: at(30),
      errorCode: 7001,
    },
  ],
  anomalies: [
    {
      anomalyId: 'a-1',
      description: 'attempt 1: provider account acme-1 reported success',
      createTime: at(40),
      resolution: { kind: AnomalyResolutionKind.PAID, note: 'seen at the bank', resolveTime: at(50) },
    },
    { anomalyId: 'a-2', description: 'provider account acme-1 is silent', createTime: at(60) },
  ],
})

describe('what the payments service knows', () => {
  // O7
  test('an operator reads accounts, reasons and anomalies', () => {
    expect(titles(paymentRows(anomalous, [], OPERATOR))).toEqual([
      'Attempt 1 at acme-1: no clear answer, so it may have arrived (time-out), after 30000 ms',
      'Refund of 40.00 INR was requested',
      'Refund of 40.00 INR was approved: its funds are held',
      expect.stringMatching(
        /^Refund of 40\.00 INR failed: the merchant has its funds back, because of: .*\(7001\)$/,
      ),
      'Anomaly: attempt 1: provider account acme-1 reported success',
      'Anomaly resolved by the operator: it was paid',
      'Anomaly: provider account acme-1 is silent',
    ])
  })

  // O2, O7
  test('a merchant reads neither accounts nor anomalies, also with reveal', () => {
    const rows = paymentRows(anomalous, [], MERCHANT)
    expect(titles(rows)[0]).toBe(
      'Attempt 1 at the provider: no clear answer, so it may have arrived, after 30000 ms',
    )
    expect(JSON.stringify(rows)).not.toMatch(/acme|time-out|anomaly/)
  })
})

const disputed = create(GetPaymentSupportResponseSchema, {
  chargebacks: [
    {
      chargebackId: 'c-1',
      amount: money,
      status: ChargebackStatus.UNDER_REVIEW,
      deadlineTime: at(3_600_000),
      history: [
        { status: ChargebackStatus.OPEN, createTime: at(0) },
        { status: ChargebackStatus.UNDER_REVIEW, createTime: at(10), note: 'sent to the bank' },
      ],
    },
  ],
  ticket: {
    ticketId: 't-1',
    category: TicketCategory.DISPUTE,
    priority: TicketPriority.HIGH,
    status: TicketStatus.IN_PROGRESS,
    title: 'Asha was charged twice',
    createTime: at(0),
    updateTime: at(20),
    slaDeadlineTime: at(28_800_000),
  },
  comments: [
    { commentId: 'm-1', threadId: 't-1', author: CommentAuthor.MERCHANT, createTime: at(5) },
    { commentId: 'm-2', threadId: 't-1', author: CommentAuthor.SUPPORT, internal: true, createTime: at(6) },
    { commentId: 'm-3', threadId: 'r-1', author: CommentAuthor.SUPPORT, createTime: at(7) },
  ],
})

// O7
test('chargebacks, the ticket and comments have rows; a merchant sees no internal note', () => {
  const rows = supportRows(disputed, OPERATOR)
  expect(titles(rows)).toEqual([
    'Chargeback of 40.00 INR was opened (evidence until 2026-11-28T13:00:00.000Z)',
    'Chargeback of 40.00 INR is under review by the bank',
    'Ticket was opened by the merchant: dispute, priority high',
    'Ticket was last changed; it is in progress',
    'Merchant commented on the ticket',
    'Operator wrote an internal note on the ticket',
    'Operator commented on the refund',
  ])
  expect(JSON.stringify(rows)).not.toMatch(/Asha|sent to the bank/)
  expect(titles(supportRows(disputed, MERCHANT))).not.toContain(
    'Operator wrote an internal note on the ticket',
  )
})

// O7
test('an event is one row, whether its payment or its deliveries name it, and each try of each delivery is one', () => {
  const delivery = (deliveryId: string, eventKey: string, event: string) =>
    create(DeliverySchema, {
      deliveryId,
      eventKey,
      event,
      url: 'https://shop.example/callbacks?token=secret',
      createTime: at(5),
      attempts: [
        { number: 1, startTime: at(6), failure: 'timeout', durationMs: 10_000 },
        { number: 2, startTime: at(7), httpStatus: 200, durationMs: 5 },
      ],
    })
  const { events } = create(ExplainPaymentResponseSchema, {
    events: [
      { eventKey: 'p:created', event: 'payment.created', createTime: at(0), published: true },
      { eventKey: 'p:success', event: 'payment.completed', createTime: at(1), published: false },
      { eventKey: 'r:completed', event: 'payment.refunded', createTime: at(2), published: true },
    ],
  })
  const rows = callbackRows(events, [
    delivery('d-1', 'p:created', 'payment.created'),
    delivery('d-2', 'r-1:refund.status_changed:approved', 'refund.status_changed'),
  ])
  expect(titles(rows)).toEqual([
    'Event payment.created goes to shop.example',
    'Event payment.completed waits to be sent',
    'Event payment.refunded has no endpoint on record; listeners are not shown',
    'Event refund.status_changed (approved) goes to shop.example',
    ...['payment.created', 'refund.status_changed'].flatMap((event) => [
      `Callback ${event} to shop.example, try 1: failed (timeout) after 10000 ms`,
      `Callback ${event} to shop.example, try 2: delivered (HTTP 200) after 5 ms`,
    ]),
  ])
  expect(JSON.stringify(titles(rows))).not.toContain('secret')
})

describe('what follows', () => {
  const work = (more: MessageInitShape<typeof PendingWorkSchema>) => ({ kind: 'poll_provider', ...more })
  const explanation = create(ExplainPaymentResponseSchema, {
    work: [
      work({ kind: 'expire_payment', dueTime: at(900_000) }),
      work({ kind: 'publish_event', detail: 'payment.created', dueTime: at(1) }),
      work({ dueTime: at(30_000), tries: 3 }),
      work({
        kind: 'post_entry',
        workId: 'r-1:capture',
        subjectId: 'r-1',
        detail: 'capture',
        stuck: true,
        tries: 20,
        failure: 'PublicError',
      }),
      work({ kind: 'report_refund', subjectId: 'r-1' }),
    ],
    refunds: [{ refundId: 'r-1', amount: money, status: RefundStatus.PENDING }],
    anomalies: anomalous.anomalies,
  })
  const callback = { event: 'payment.created', url: 'https://shop.example/' }
  const dead = create(DeliverySchema, { ...callback, deliveryId: 'd-1', status: DeliveryStatus.DEAD })
  const waiting = create(DeliverySchema, {
    ...callback,
    deliveryId: 'd-2',
    status: DeliveryStatus.PENDING,
    nextAttemptTime: at(60_000),
    attempts: [{ number: 4 }],
  })
  const held = create(DeliverySchema, { ...dead, deliveryId: 'd-3', trouble: DeliveryTrouble.HELD })
  const sources = {
    explanation,
    support: disputed,
    deliveries: [waiting, dead, held],
    approvals: [{ approval_id: 'ap-1', rpc: 'm.v1.BalanceService/Adjust', expires_at: new Date(0) }],
  }

  // O7
  test('the payment itself is first, then what waits for a person, then callbacks', () => {
    const steps = pendingSteps({ ...sources, is_merchant: false })
    expect(steps.map(({ title, waits_for }) => `${waits_for}: ${title}`)).toEqual([
      'system: the provider is asked for its status, try 4',
      'customer: the deposit expires unless the customer has paid',
      "operator: Refund of 40.00 INR waits for the operator's decision",
      'operator: Stuck after 20 tries (PublicError): its entry is posted to the ledger (capture). RetryEffect of r-1:capture tries again',
      'operator: BalanceService/Adjust waits for a second person, and expires without a decision',
      "bank: Chargeback of 40.00 INR waits for the bank's decision",
      "operator: Anomaly waits for the operator's decision",
      'system: its event is sent to the receivers (payment.created)',
      'operator: The callback payment.created to shop.example has used all its tries: nothing is sent until it is replayed',
      'system: The callback payment.created to shop.example waits until its receiver answers again, and is sent then',
      'system: try 5 of the callback payment.created to shop.example',
      'operator: Ticket waits for the operator',
    ])
    expect(steps[3]?.refs).toEqual([{ kind: 'refund', id: 'r-1' }])
  })

  // O2, O7
  test('a merchant reads nothing of stuck work, approvals and anomalies', () => {
    const steps = pendingSteps({ ...sources, is_merchant: true })
    expect(JSON.stringify(titles(steps))).not.toMatch(/Stuck|second person|Anomaly/)
  })
})
