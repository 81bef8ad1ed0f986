import { describe, expect, test } from '@jest/globals'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { closeAnomalyEffect, recordAnomalyEffect } from './anomaly.ts'
import { applyExpiry } from './apply-expiry.ts'
import { applyNotFoundUpdate, applyProviderUpdate, type ProviderUpdate } from './apply-provider-update.ts'
import type { CallResult, LookupResult } from './call-result.ts'
import { endByOperator } from './end-without-report.ts'
import { findOperation, type OperationRef, operationOf } from './operation.ts'
import type { Payment } from './payment.ts'
import { repeatCreateEffect } from './payment-effects.ts'
import { recordOf } from './provider-record.ts'

const at = new Date(CREATED_AT.getTime() + 60_000)
const FIVE_MINUTES_MS = 300_000
const REFUND: OperationRef = { refund_id: 'r' }
const ATTEMPT: OperationRef = { attempt_number: 1 }
const PENDING: CallResult = { kind: 'pending', provider_id: 'p-1' }
const DECLINED: CallResult = { kind: 'declined', code: 7001 }

const later = (ms: number): Date => new Date(at.getTime() + ms)

/** An open payment, or one with an open refund. */
function openPayment({ refund_id }: OperationRef): Payment {
  if (refund_id === undefined)
    return newDeposit({ status: 'processing', provider_accounts: ['first'], effects: [] })
  const refund = { refund_id, amount: 400n, change_number: 2, holds: 1, created_at: at, approved_at: at }
  return newDeposit({ status: 'success', effects: [], refunds: [{ ...refund, state: 'approved' }] })
}

function apply(
  payment: Payment,
  ref: OperationRef,
  result: CallResult,
  more: Partial<ProviderUpdate> = {},
): Payment {
  return applyProviderUpdate(payment, { ...ref, result, at, poll_at: at, ...more } as ProviderUpdate)
}

const notFound = (payment: Payment, ref: OperationRef, looked_at: Date): Payment =>
  applyNotFoundUpdate(payment, { ...ref, may_repeat: true, fingerprint: '', at: looked_at })

const isOpen = (payment: Payment, { refund_id }: OperationRef): boolean | undefined =>
  findOperation(payment, refund_id)?.is_open

const anomaliesOf = ({ effects }: Payment): unknown[] =>
  effects.filter(recordAnomalyEffect.matches).map(({ data }) => data['kind'])

/** The payment after its anomalies were stored. */
const recorded = (payment: Payment): Payment => ({
  ...payment,
  effects: payment.effects.filter((effect) => !recordAnomalyEffect.matches(effect)),
})

// P4
describe.each([
  ['an attempt', ATTEMPT],
  ['a refund', REFUND],
])('%s that its provider has reported', (_what, ref) => {
  const known = apply(openPayment(ref), ref, { ...PENDING, transaction_id: 't-1' })
  const create = { next_attempt_at: at, fingerprintOf: () => 'f', takesPayments: () => true }

  test('has the id of the first report, and the newest other id', () => {
    expect(recordOf(known, ref)).toMatchObject({ provider_id: 'p-1', transaction_id: 't-1' })
    const again = apply(known, ref, { ...PENDING, transaction_id: 't-2' })
    expect(recordOf(again, ref)).toMatchObject({ provider_id: 'p-1', transaction_id: 't-2' })
    expect(apply(again, ref, PENDING)).toBe(again)
  })

  test('has its ids in the text of an anomaly, whose own id does not change with them', () => {
    const anomalyOf = (payment: Payment): Readonly<Record<string, unknown>> | undefined => {
      const missing = notFound(payment, ref, at)
      const found = notFound(missing, ref, later(FIVE_MINUTES_MS)).effects.find(recordAnomalyEffect.matches)
      return found?.data
    }
    const [first, newest] = [known, apply(known, ref, { ...PENDING, transaction_id: 't-2' })].map(anomalyOf)
    expect(first?.['description']).toMatch(/; its id there: p-1, transaction t-1$/)
    expect(newest?.['description']).toMatch(/; its id there: p-1, transaction t-2$/)
    expect(newest?.['anomaly_id']).toBe(first?.['anomaly_id'])
  })

  test('keeps the id of a report with another amount, because the operation exists', () => {
    const differs = apply(openPayment(ref), ref, { ...PENDING, amount: { minor: 1n, currency: 'INR' } })
    expect(recordOf(differs, ref)).toMatchObject({ provider_id: 'p-1' })
  })

  test('is not sent again, and is an anomaly after five minutes in which its provider did not find it', () => {
    const first = notFound(known, ref, at)
    expect(first.effects.filter(repeatCreateEffect.matches)).toEqual([])
    expect(notFound(first, ref, later(FIVE_MINUTES_MS - 1))).toBe(first)
    const reported = notFound(first, ref, later(FIVE_MINUTES_MS))
    expect(anomaliesOf(reported)).toEqual(['not_found_at_provider'])
    expect(reported.effects.filter(repeatCreateEffect.matches)).toEqual([])
    expect(isOpen(reported, ref)).toBe(true)
  })

  test('is no anomaly when its provider finds it again in between', () => {
    const found = apply(notFound(known, ref, at), ref, PENDING)
    const again = notFound(found, ref, later(FIVE_MINUTES_MS))
    expect(anomaliesOf(again)).toEqual([])
    expect(anomaliesOf(notFound(again, ref, later(2 * FIVE_MINUTES_MS)))).toEqual(['not_found_at_provider'])
  })

  test('closes that anomaly when a verdict comes, and not by the decision of the operator', () => {
    const reported = notFound(notFound(known, ref, at), ref, later(FIVE_MINUTES_MS))
    const [anomaly] = reported.effects.filter(recordAnomalyEffect.matches)
    const declined = apply(recorded(reported), ref, { ...DECLINED, provider_id: 'p-1' })
    expect(declined.effects.filter(closeAnomalyEffect.matches)).toMatchObject([
      { after: anomaly?.id, data: { anomaly_id: anomaly?.data['anomaly_id'] } },
    ])
    const decision = { decision: 'a:1', is_paid: false, at, sends_callbacks: true }
    const ended = endByOperator(reported, ref.refund_id, decision)
    expect(ended.effects.filter(closeAnomalyEffect.matches)).toEqual([])
  })

  test.each<CallResult>([DECLINED, { kind: 'canceled', code: 6034 }])(
    'stays open when the response to its create is $kind: that is unknown then',
    (result) => {
      const refused = apply(known, ref, result, { create })
      expect(isOpen(refused, ref)).toBe(true)
      expect(isOpen(apply(openPayment(ref), ref, result, { create }), ref)).toBe(false)
      expect(isOpen(apply(known, ref, result), ref)).toBe(false)
    },
  )

  test.each<CallResult>([
    { ...PENDING, provider_id: 'p-2' },
    { ...DECLINED, provider_id: 'p-2' },
    {
      kind: 'success',
      provider_id: 'p-2',
      amount: operationOf(known, ref.refund_id).amount,
      completed_at: at,
    },
  ])('is an anomaly, once, when a report of $kind has another id', (result) => {
    const disputed = apply(known, ref, result)
    expect(anomaliesOf(disputed)).toEqual(['id_differs'])
    expect(isOpen(disputed, ref)).toBe(true)
    expect(recordOf(disputed, ref)).toMatchObject({ provider_id: 'p-1' })
    expect(apply(disputed, ref, result)).toBe(disputed)
    const ended = recorded(apply(known, ref, { ...DECLINED, provider_id: 'p-1' }))
    expect(anomaliesOf(apply(ended, ref, result))).toEqual(['id_differs'])
  })
})

// P4, P8
describe('the expiry of a deposit whose provider has named two ids', () => {
  const known = apply(openPayment(ATTEMPT), ATTEMPT, PENDING)
  const amount = operationOf(known).amount
  const other: CallResult = { kind: 'success', provider_id: 'p-2', amount, completed_at: at }
  const disputed = recorded(apply(known, ATTEMPT, other))
  const expire = (payment: Payment, result: LookupResult, attempt_number = 1): Payment =>
    applyExpiry(payment, {
      attempt_number,
      result,
      at: new Date((payment.expires_at?.getTime() ?? 0) + 60_000),
      ask_again_at: at,
      sends_callbacks: true,
    })

  test.each<LookupResult>([other, { kind: 'canceled', code: 6012, provider_id: 'p-2' }])(
    'leaves it open for the operator when the other id is in the last response: $kind',
    (result) => {
      const kept = expire(known, result)
      expect(kept.status).toBe('processing')
      expect(anomaliesOf(kept)).toEqual(['id_differs'])
    },
  )

  test.each<LookupResult>([PENDING, { kind: 'not_found' }, { kind: 'unknown', reason: 'time-out' }])(
    'leaves it open when another id was reported before: $kind',
    (result) => {
      expect(expire(disputed, result).status).toBe('processing')
      // The question was about another attempt, before the payment came to this one.
      expect(expire(disputed, result, 2).status).toBe('processing')
    },
  )

  test('ends it by a verdict about the known id', () => {
    expect(expire(disputed, { ...other, provider_id: 'p-1' }).status).toBe('success')
    expect(expire(disputed, { kind: 'canceled', code: 6012, provider_id: 'p-1' }).status).toBe('canceled')
  })

  test('declines a deposit that its provider has forgotten', () => {
    expect(expire(notFound(known, ATTEMPT, at), { kind: 'not_found' }).status).toBe('declined')
  })
})
