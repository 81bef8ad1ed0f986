import { describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { recordAnomalyEffect } from '../domain/anomaly.ts'
import { applyExpiry } from '../domain/apply-expiry.ts'
import type { LookupResult } from '../domain/call-result.ts'
import { endByOperator } from '../domain/end-without-report.ts'
import { operationKey } from '../domain/operation.ts'
import type { Payment } from '../domain/payment.ts'
import { lookUpLateEffect } from '../domain/payment-effects.ts'
import { applyRefundHold, beginApproval, decideReservation } from '../domain/refund-transitions.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindLookUpLate } from './ask-provider.ts'
import { bindRecordAnomaly } from './report-to-operator.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const HOUR_MS = 3_600_000

const deposit = newDeposit({ status: 'processing', effects: [] })

/** The deposit as its expiry leaves it. */
function declined(sends_callbacks: boolean) {
  const at = deposit.expires_at
  const update = { attempt_number: 1, result: { kind: 'not_found' }, at, ask_again_at: at } as const
  return applyExpiry(deposit, { ...update, sends_callbacks })
}

// P7
test('a deposit that expired is looked up late only if its provider sends no callbacks', () => {
  expect(declined(true).effects.filter(lookUpLateEffect.matches)).toEqual([])
  const due_at = new Date(deposit.expires_at.getTime() + HOUR_MS)
  expect(declined(false).effects.filter(lookUpLateEffect.matches)).toMatchObject([{ due_at }])
})

test('a late lookup without a response is repeated until the provider responds', async () => {
  const amount = { minor: deposit.amount, currency: deposit.currency }
  const results: LookupResult[] = [
    { kind: 'unknown', reason: 'time-out' },
    { kind: 'success', provider_id: 'p-1', amount, completed_at: deposit.expires_at },
  ]
  const lookUp = async (): Promise<LookupResult> => results.shift() ?? { kind: 'not_found' }
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
    lookUp,
    sends_callbacks: false,
  })
  const clock = createAdjustableClock()
  clock.stopWall(deposit.expires_at.getTime())
  using _ = { [Symbol.dispose]: useClock(clock) }
  await using fixture = await openPayments()
  const { payments, anomalies } = fixture.store
  const runner = fixture.runner([bindLookUpLate(deps()), bindRecordAnomaly(anomalies)], { sweep_ms: 10 })
  const late = declined(false).effects.filter(lookUpLateEffect.matches)
  const inserted = await runner.insert({ ...declined(false), effects: late })
  const stored = () => payments.get(keyOfPayment(inserted))
  runner.start()
  clock.stepWall(HOUR_MS + 1)
  await eventually(stored, (found) => found?.effects[0]?.failure !== undefined)
  expect(await anomalies.find('by_open', {}, { limit: 10 })).toEqual([])
  clock.stepWall(HOUR_MS)
  const found = await eventually(
    () => anomalies.find('by_open', {}, { limit: 10 }),
    (listed = []) => listed.length > 0,
  )
  expect(found).toMatchObject([{ kind: 'contradicts_final_status' }])
  const due_at = new Date(deposit.expires_at.getTime() + 24 * HOUR_MS)
  await eventually(stored, (payment) => payment?.effects.length === 1)
  expect(await stored()).toMatchObject({ status: 'declined', effects: [{ due_at, tries: 0 }] })
})

// P7, S9
describe('a refund that the operator ended', () => {
  const refundId = 'refund-1'
  const ended_at = deposit.expires_at
  const paid = { kind: 'success', provider_id: 'p-9', completed_at: ended_at } as const

  /** A deposit whose refund of 4.00 the operator ended. */
  function ended(state: 'completed' | 'failed', sends_callbacks = false): Payment {
    const request = { refund_id: refundId, c_id: 'c', amount: 400n, reason: '' }
    const success = newDeposit({ status: 'success', effects: [] })
    const requested = decideReservation(success, request, ended_at).payment
    const approving = beginApproval(requested, refundId, ended_at).payment
    const hold = { refund_id: refundId, hold_id: `${refundId}:hold:1`, refused_code: undefined }
    const approved = applyRefundHold(approving, hold, ended_at)
    const decision = { decision: 'a:1', is_paid: state === 'completed', at: ended_at, sends_callbacks }
    return endByOperator(approved, refundId, decision)
  }

  /** Looks the refund up at some hours after its end. Returns when the next lookup is due, and the anomalies. */
  async function lookUp(payment: Payment, hours: number, result: LookupResult) {
    using _clock = installManualClock(ended_at.getTime() + hours * HOUR_MS)
    const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
      lookUp: async ({ kind, idempotency_key }) =>
        kind === 'refund' && idempotency_key === operationKey(payment, refundId)
          ? result
          : { kind: 'unknown', reason: 'another operation' },
    })
    const effect = payment.effects.find(lookUpLateEffect.matches)
    if (!effect) throw new Error('the refund has no late lookup')
    const change = await bindLookUpLate(deps()).run(effect, { ...payment, version: 2 })
    const { effects } = change({ ...payment, effects: [] })
    const hoursOf = (due_at: Date): number => (due_at.getTime() - ended_at.getTime()) / HOUR_MS
    return {
      next: effects.filter(lookUpLateEffect.matches).map(({ due_at }) => hoursOf(due_at)),
      anomalies: effects.filter(recordAnomalyEffect.matches).map(({ data }) => data['kind']),
    }
  }

  test.each(['completed', 'failed'] as const)(
    'as %s is looked up late only if its provider sends no callbacks',
    (state) => {
      expect(ended(state, true).effects.filter(lookUpLateEffect.matches)).toEqual([])
      const due_at = new Date(ended_at.getTime() + HOUR_MS)
      expect(ended(state).effects.filter(lookUpLateEffect.matches)).toMatchObject([{ due_at }])
    },
  )

  test('is looked up after an hour and after a day, and then no more', async () => {
    expect(await lookUp(ended('failed'), 1, { kind: 'not_found' })).toEqual({ next: [24], anomalies: [] })
    expect(await lookUp(ended('failed'), 24, { kind: 'not_found' })).toEqual({ next: [], anomalies: [] })
  })

  test.each<['completed' | 'failed', LookupResult, readonly string[]]>([
    ['failed', { ...paid, amount: { minor: 400n, currency: 'INR' } }, ['contradicts_final_status']],
    ['failed', { kind: 'declined', code: 6044 }, []],
    ['completed', { ...paid, amount: { minor: 400n, currency: 'INR' } }, []],
    ['completed', { ...paid, amount: { minor: 401n, currency: 'INR' } }, ['amount_differs']],
    ['completed', { kind: 'declined', code: 6044 }, ['contradicts_final_status']],
    ['completed', { kind: 'canceled', code: 6034 }, ['contradicts_final_status']],
  ])('as %s, of which the provider says %p later, has the anomalies %p', async (state, result, anomalies) => {
    expect(await lookUp(ended(state), 1, result)).toEqual({ next: [24], anomalies })
  })

  test('is looked up again when the provider does not respond', async () => {
    await expect(lookUp(ended('failed'), 1, { kind: 'unknown', reason: 'time-out' })).rejects.toThrow(
      'the late lookup has no result: time-out',
    )
  })
})
