import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { mayRun } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { CREATED_AT, newDeposit, STATUSES } from '../payment.fixture.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { CallResult } from './call-result.ts'
import { decideChargeback, winChargeback } from './chargeback.ts'
import type { Payment } from './payment.ts'
import {
  pollProviderEffect,
  repeatCreateEffect,
  reportChargebackEffect,
  reportOpenEffect,
  reportRefundEffect,
} from './payment-effects.ts'
import { paymentToProto } from './payment-to-proto.ts'
import { findRefund, openRefundOf } from './refund.ts'
import { applyRefundHold, beginApproval, decideClosing, decideReservation } from './refund-transitions.ts'

const at = new Date(CREATED_AT.getTime() + 60_000)
const paid = newDeposit({ status: 'success', effects: [] })

const request = (payment: Payment, refund_id: string, amount = 1n) =>
  decideReservation(payment, { refund_id, c_id: refund_id, amount, reason: '' }, at)
const charge = (payment: Payment, chargeback_id: string, amount = 1n) =>
  decideChargeback(payment, { chargeback_id, amount, currency: 'INR', reason_code: '10.4' }, at)

/** The payment with a refund of 4.00 at its provider. */
function withApproved(refund_id: string): Payment {
  const begun = beginApproval(request(paid, refund_id, 400n).payment, refund_id, at).payment
  const decision = { refund_id, hold_id: `${refund_id}:hold:1`, refused_code: undefined }
  return applyRefundHold(begun, decision, at)
}

test('an approved refund waits for the account that was paid, also when another one was tried after it', () => {
  const second = { number: 2, account_id: 'second', created_at: CREATED_AT }
  const payment = { ...withApproved('r'), provider_accounts: ['first', 'second'], attempt: second }
  expect(openRefundOf(payment)?.account_id).toBe('second')
  expect(openRefundOf({ ...payment, paid_attempt: 1 })?.account_id).toBe('first')
})

const apply = (payment: Payment, result: CallResult): Payment =>
  applyProviderUpdate(payment, { refund_id: 'r', result, at, poll_at: at })

const success = (minor: bigint): CallResult => {
  return { kind: 'success', provider_id: 'p', amount: { minor, currency: 'INR' }, completed_at: at }
}

// S8
describe('a payment', () => {
  test('has at most 100 refunds, in whatever status', () => {
    let payment: Payment = paid
    for (let number = 1; number <= 100; number += 1) {
      const requested = request(payment, `r-${number}`)
      expect(requested.refused_code).toBeUndefined()
      const closing = { refund_id: `r-${number}`, status: 'rejected', reason: '' } as const
      payment = decideClosing(requested.payment, closing, at).payment
    }
    expect(request(payment, 'r-101').refused_code).toBe(11002)
    expect(request(payment, 'r-100').refused_code).toBeUndefined()
  })

  test('has at most 100 chargebacks', () => {
    let payment: Payment = paid
    for (let number = 1; number <= 100; number += 1) {
      const opened = charge(payment, `c-${number}`)
      expect(opened.refused_code).toBeUndefined()
      payment = opened.payment
    }
    expect(charge(payment, 'c-101').refused_code).toBe(11002)
    expect(charge(payment, 'c-100').refused_code).toBeUndefined()
  })

  test('keeps the last 20 refusals', () => {
    let payment = request(paid, 'active').payment
    for (let number = 1; number <= 21; number += 1) {
      const refused = request(payment, `r-${number}`)
      expect(refused.refused_code).toBe(11005)
      payment = refused.payment
    }
    expect(payment.reservation_refusals?.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => `r-${index + 2}`),
    )
  })
})

// S8, S10
test.each(DIRECTIONS.names.flatMap((direction) => STATUSES.map((status) => [direction, status] as const)))(
  'a payment of direction %s in %s has refunds and chargebacks only if a customer has paid it',
  (direction, status) => {
    const payment = newDeposit({ direction, status, effects: [] })
    const is_paid = direction === 'in' && ['success', 'partially_refunded', 'refunded'].includes(status)
    expect(charge(payment, 'c').refused_code).toBe(is_paid ? undefined : 11002)
    const is_refundable = is_paid && status !== 'refunded'
    expect(request(payment, 'r').refused_code).toBe(is_refundable ? undefined : 11002)
  },
)

// S9
test.each(['rejected', 'canceled'] as const)('a refund that was %s is not approved: 8801', (status) => {
  const { payment } = request(paid, 'r', 400n)
  const closed = decideClosing(payment, { refund_id: 'r', status, reason: '' }, at).payment
  expect(beginApproval(closed, 'r', at)).toEqual({ payment: closed, refused_code: 8801 })
})

// S10
describe('a chargeback', () => {
  test('can take all that is left of the payment, and no more', () => {
    const { payment } = charge(withApproved('r'), 'c-1', 100n)
    const left = paid.amount - 500n
    expect(charge(payment, 'c-2', left + 1n).refused_code).toBe(11004)
    expect(charge(payment, 'c-2', left).refused_code).toBeUndefined()
  })

  // S9: the ledger may have placed the hold of the refund already.
  test('cannot take what a refund has asked a hold for', () => {
    const { payment } = beginApproval(request(paid, 'r', 400n).payment, 'r', at)
    const left = paid.amount - 400n
    expect(charge(payment, 'c-1', left + 1n).refused_code).toBe(11004)
    expect(charge(payment, 'c-1', left).refused_code).toBeUndefined()
  })

  test('in another currency than the payment is refused with 6002', () => {
    const asked = { chargeback_id: 'c', amount: 1n, currency: 'EUR', reason_code: '10.4' }
    expect(decideChargeback(paid, asked, at).refused_code).toBe(6002)
  })

  test('that was won is credited back once, and leaves room for another one', () => {
    const { payment } = charge(paid, 'c-1', paid.amount)
    expect(charge(payment, 'c-2').refused_code).toBe(11004)
    const won = winChargeback(payment, 'c-1', at)
    expect(won.effects.filter(({ data }) => data['posting'] === 'return')).toMatchObject([
      { id: 'c-1:return' },
    ])
    const returned = { ...won, effects: [] }
    expect(winChargeback(returned, 'c-1', at)).toBe(returned)
    expect(charge(returned, 'c-3', paid.amount).refused_code).toBeUndefined()
  })

  test('is reported with its deadline, if it has one', () => {
    const asked = { chargeback_id: 'c', amount: 1n, currency: 'INR', reason_code: '10.4' }
    const deadlineOf = ({ effects }: Payment) =>
      effects.find(reportChargebackEffect.matches)?.data['deadline']
    expect(deadlineOf(decideChargeback(paid, asked, at).payment)).toBe('')
    const due = decideChargeback(paid, { ...asked, deadline_at: at }, at).payment
    expect(deadlineOf(due)).toBe(at.toISOString())
  })
})

// P7
test('a refund of many reported amounts has 21 anomalies, and hides no report of another kind', () => {
  let payment = apply(withApproved('r'), success(400n))
  for (let minor = 1n; minor <= 30n; minor += 1n) payment = apply(payment, success(minor))
  expect(payment.anomalies).toHaveLength(21)
  payment = apply(payment, { kind: 'declined', provider_id: 'p', code: 6044 })
  expect(payment.anomalies).toHaveLength(22)
  expect(apply(payment, success(31n))).toBe(payment)
  expect(apply(payment, success(1n))).toBe(payment)
})

// P7
describe('a report about a refund that names another amount', () => {
  const other = { provider_id: 'p', amount: { minor: 1n, currency: 'INR' } } as const
  test.each<CallResult>([
    { kind: 'declined', code: 6044, ...other },
    { kind: 'canceled', code: 6034, ...other },
    { kind: 'pending', ...other },
  ])('is an anomaly and ends nothing: $kind', (result) => {
    const approved = withApproved('r')
    const reported = apply(approved, result)
    expect(findRefund(reported, 'r')?.state).toBe('approved')
    expect(reported.anomalies).toHaveLength(1)
    expect(reported.effects.filter(pollProviderEffect.matches)).toHaveLength(1)
    expect(apply(reported, result)).toBe(reported)
    const completed = apply(approved, success(400n))
    expect(apply(completed, result).anomalies).toHaveLength(1)
  })
})

// P9
describe('support gets the report', () => {
  const isReportRunnable = (payment: Payment, matches: typeof reportRefundEffect.matches): boolean => {
    const report = payment.effects.findLast(matches)
    if (!report) throw new Error('nothing is reported')
    return mayRun(payment, report)
  }
  /** The payment after its money effects have run. */
  const posted = (payment: Payment): Payment => ({
    ...payment,
    effects: payment.effects.filter(({ lane }) => lane !== 'money'),
  })

  test('of a chargeback after its debit', () => {
    const { payment } = charge(paid, 'c')
    expect(isReportRunnable(payment, reportChargebackEffect.matches)).toBe(false)
    expect(isReportRunnable(posted(payment), reportChargebackEffect.matches)).toBe(true)
  })

  const amount = { minor: 400n, currency: 'INR' }
  test.each<[string, CallResult]>([
    ['completed refund after its capture', { kind: 'success', provider_id: 'p', amount, completed_at: at }],
    ['failed refund after its release', { kind: 'declined', provider_id: 'p', code: 6044 }],
  ])('of a %s', (_what, result) => {
    const payment = apply(withApproved('r'), result)
    expect(isReportRunnable(payment, reportRefundEffect.matches)).toBe(false)
    expect(isReportRunnable(posted(payment), reportRefundEffect.matches)).toBe(true)
  })
})

// S9
test('the changes of a refund are reported in order, numbered from 1', () => {
  const { effects } = apply(withApproved('r'), success(400n))
  const reports = effects.filter(reportRefundEffect.matches)
  expect(reports.map(({ data }) => [data['number'], data['status']])).toEqual([
    [1, 'pending'],
    [2, 'approved'],
    [3, 'completed'],
  ])
})

// P8
test('a refund that is approved is reported to the operator after 24 hours', () => {
  const due_at = new Date(at.getTime() + 24 * 3_600_000)
  expect(withApproved('r').effects.filter(reportOpenEffect.matches)).toMatchObject([{ due_at }])
})

// P10
test('the event of a refund shows the whole payment with its earlier refunds, as at that transition', () => {
  const first = apply(withApproved('r'), success(400n))
  const requested = request(first, 's', 100n).payment
  const decision = { refund_id: 's', hold_id: 's:hold:1', refused_code: undefined }
  const approved = applyRefundHold(beginApproval(requested, 's', at).payment, decision, at)
  const update = { refund_id: 's', result: success(100n), at, poll_at: at }
  const second = applyProviderUpdate(approved, update)
  expect(second).toMatchObject({ status: 'partially_refunded' })
  const event = second.effects.findLast(publishEventEffect.matches)
  expect(event?.id).toBe('s:completed:event')
  const { resource } = fromBinary(MerchantEventSchema, event?.data['message'] as Uint8Array)
  if (resource.case !== 'payment') throw new Error('the event is not of a payment')
  const { operations, history } = resource.value
  expect(operations.map(({ operationId, amount }) => [operationId, amount?.minor])).toEqual([
    [paid.payment_id, paid.amount],
    ['r', 400n],
    ['s', 100n],
  ])
  expect(history.map(({ amount }) => amount?.minor)).toEqual([paid.amount, 400n, 100n])
  expect(resource.value).toEqual(paymentToProto(second))
})

// P7, P9
test.each<[string, CallResult]>([
  ['completed', success(400n)],
  ['failed', { kind: 'declined', provider_id: 'p', code: 6044 }],
])('a refund that is %s no longer waits for its provider, and loses nothing else', (_state, result) => {
  const approved = withApproved('r')
  const asked = { refund_id: 'r' }
  const poll = pollProviderEffect.newEffect(approved, asked, { at })
  const of_another = pollProviderEffect.newEffect(approved, { refund_id: 's' }, { at })
  const repeat = repeatCreateEffect.newEffect(approved, asked, { at })
  const reports = approved.effects.filter(reportRefundEffect.matches)
  const open = reportOpenEffect.newEffect(approved, asked, { at })
  const keptAfter = (tries: number) => {
    const effects = [poll, of_another, { ...repeat, tries }, ...reports, open]
    return apply({ ...approved, effects }, result).effects.filter((effect) => effects.includes(effect))
  }
  expect(keptAfter(0)).toEqual([of_another, ...reports])
  // A repetition that is on its way stays: its response may contradict the end.
  expect(keptAfter(1)).toEqual([of_another, { ...repeat, tries: 1 }, ...reports])
})

// P4
test('a refund that is polled does not fail when a request of it was not sent, because an earlier one may have arrived', () => {
  const polled = apply(withApproved('r'), { kind: 'unknown', reason: 'reset' })
  expect(polled.effects.filter(pollProviderEffect.matches)).toHaveLength(1)
  expect(apply(polled, { kind: 'not_sent', reason: 'refused' })).toBe(polled)
})
