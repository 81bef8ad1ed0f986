import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { recordAnomalyEffect } from '../domain/anomaly.ts'
import { applyNotFoundUpdate, applyProviderUpdate } from '../domain/apply-provider-update.ts'
import type { CallResult, LookupResult } from '../domain/call-result.ts'
import { endByOperator } from '../domain/end-without-report.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import {
  createAtProviderEffect,
  pollProviderEffect,
  repeatCreateEffect,
  reportOpenEffect,
} from '../domain/payment-effects.ts'
import { requireRefund } from '../domain/refund.ts'
import { applyRefundHold, beginApproval, decideReservation } from '../domain/refund-transitions.ts'
import { FINGERPRINT, newDeposit } from '../payment.fixture.ts'
import { bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import { bindReportOpen } from './report-to-operator.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const REFUND_ID = 'refund-1'
const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused' }
const UNKNOWN: CallResult = { kind: 'unknown', reason: 'reset' }
const SUCCESS: CallResult & LookupResult = {
  kind: 'success',
  provider_id: 'p-9',
  amount: { minor: 400n, currency: 'INR' },
  completed_at: new Date(),
}

const MINUTE_MS = 60_000

/** A payment with a refund of 4.00 that was approved `age_ms` ago. */
function approved(age_ms = 0, changes: Partial<Payment> = {}): Payment {
  const at = new Date(now().getTime() - age_ms)
  const paid = newDeposit({ status: 'success', effects: [], ...changes })
  const request = { refund_id: REFUND_ID, c_id: 'c', amount: 400n, reason: '' }
  const begun = beginApproval(
    decideReservation(paid, request, at).payment,
    REFUND_ID,
    at,
    FINGERPRINT,
  ).payment
  const decision = { refund_id: REFUND_ID, hold_id: `${REFUND_ID}:hold:1`, refused_code: undefined }
  return applyRefundHold(begun, decision, at)
}

const stateOf = (payment: Payment): string => requireRefund(payment, REFUND_ID).state
const isPolled = ({ effects }: Payment): boolean => effects.some(pollProviderEffect.matches)

/** Sends the refund to a provider with this result; `tries` counts those before too. */
async function create(
  result: CallResult,
  tries = 1,
  stopping = new AbortController().signal,
  changes: Partial<Payment> = {},
) {
  const connector = scriptedConnector(() => result)
  const payment = approved(0, changes)
  const effect = createAtProviderEffect.newEffect(payment, { refund_id: REFUND_ID }, { at: now() })
  const change = await bindCreateAtProvider(connector.deps({ stopping })).run(
    { ...effect, tries },
    { ...payment, version: 1 },
  )
  return { creates: connector.creates, payment: requireAdmitted(change(payment)) }
}

// P4, S9
describe('a refund at its provider', () => {
  test('is sent to the account of its deposit, under a key of its own', async () => {
    const { creates, payment } = await create(SUCCESS)
    expect(creates).toMatchObject([
      { account_id: 'first', idempotency_key: `${payment.payment_id}:refund:${REFUND_ID}` },
    ])
    expect([stateOf(payment), payment.status]).toEqual(['completed', 'partially_refunded'])
  })

  test('is sent to an earlier account where the operator found the deposit to be paid', async () => {
    const attempt = { number: 2, account_id: 'second', created_at: now() }
    const changes = { provider_accounts: ['first', 'second'], attempt, paid_attempt: 1 }
    const { creates, payment } = await create(SUCCESS, 1, undefined, changes)
    expect(creates).toMatchObject([
      { account_id: 'first', deposit_idempotency_key: `${payment.payment_id}:1` },
    ])
    expect(payment.attempt).toEqual(attempt)
    expect(stateOf(payment)).toBe('completed')
  })

  test('that was not sent has failed, because nothing can have moved', async () => {
    const { payment } = await create(NOT_SENT)
    expect(requireRefund(payment, REFUND_ID)).toMatchObject({ state: 'failed', error_code: 7002 })
  })

  test('that was not sent because its process stops stays approved, and is polled', async () => {
    const { payment } = await create(NOT_SENT, 1, AbortSignal.abort())
    expect([stateOf(payment), isPolled(payment)]).toEqual(['approved', true])
  })

  test('without a response stays approved, and is polled', async () => {
    const { payment } = await create(UNKNOWN)
    expect([stateOf(payment), isPolled(payment)]).toEqual(['approved', true])
  })

  test('is not sent again after a try that did not end', async () => {
    const { creates, payment } = await create(SUCCESS, 2)
    expect(creates).toEqual([])
    expect([stateOf(payment), isPolled(payment)]).toEqual(['approved', true])
  })

  test('without a result is an anomaly 24 hours after its approval', async () => {
    const payment = approved()
    const [report] = payment.effects.filter(reportOpenEffect.matches)
    if (report === undefined) throw new Error('nothing reports the refund')
    const { approved_at } = requireRefund(payment, REFUND_ID)
    expect(report.due_at.getTime() - (approved_at?.getTime() ?? 0)).toBe(24 * 60 * MINUTE_MS)
    const change = await bindReportOpen().run(report, { ...payment, version: 1 })
    const reported = requireAdmitted(change(payment))
    expect(reported.effects.filter(recordAnomalyEffect.matches)).toMatchObject([
      { data: { kind: 'open_too_long', refund_id: REFUND_ID } },
    ])
  })

  test('of another amount is not applied, and waits for the operator', async () => {
    const { payment } = await create({ ...SUCCESS, amount: { minor: 401n, currency: 'INR' } })
    expect(stateOf(payment)).toBe('approved')
    expect(payment.effects.filter(recordAnomalyEffect.matches)).toMatchObject([
      { data: { kind: 'amount_differs', refund_id: REFUND_ID } },
    ])
  })
})

/** Polls a refund, and runs what follows. Its provider gives a repeated create `result`. */
async function poll(
  lookup: LookupResult,
  result: CallResult,
  idempotency_window_ms: number,
  age_ms = MINUTE_MS,
) {
  const connector = scriptedConnector(() => result, { idempotency_window_ms, lookUp: async () => lookup })
  const before = approved(age_ms)
  const effect = pollProviderEffect.newEffect(before, { refund_id: REFUND_ID }, { at: now() })
  const payment = { ...before, effects: [...before.effects, effect] }
  const change = await bindPollProvider(connector.deps()).run(effect, { ...payment, version: 2 })
  const polled = requireAdmitted(change(payment))
  const repeat = polled.effects.find(repeatCreateEffect.matches)
  if (!repeat) return { creates: connector.creates, payment: polled }
  const apply = await bindRepeatCreate(connector.deps()).run(repeat, { ...polled, version: 3 })
  return { creates: connector.creates, payment: requireAdmitted(apply(polled)) }
}

// P4
describe('a poll of a refund', () => {
  test('that the provider has paid completes it, and ends the polls', async () => {
    const { payment } = await poll(SUCCESS, SUCCESS, 0)
    expect([stateOf(payment), isPolled(payment)]).toEqual(['completed', false])
  })

  test('that the provider does not know sends it again under the same key, where that is safe', async () => {
    const { creates, payment } = await poll({ kind: 'not_found' }, SUCCESS, Number.POSITIVE_INFINITY)
    expect(creates).toMatchObject([{ earlier_result_unknown: true }])
    expect(stateOf(payment)).toBe('completed')
  })

  test('does not fail it when the repetition was not sent', async () => {
    const { payment } = await poll({ kind: 'not_found' }, NOT_SENT, Number.POSITIVE_INFINITY)
    expect(stateOf(payment)).toBe('approved')
  })

  test('does not send it again when the repetition has waited until the window has ended', async () => {
    const connector = scriptedConnector(() => SUCCESS, { idempotency_window_ms: 10 * MINUTE_MS })
    const run = async (age_ms: number): Promise<string> => {
      const payment = approved(age_ms)
      const effect = repeatCreateEffect.newEffect(payment, { refund_id: REFUND_ID }, { at: now() })
      const change = await bindRepeatCreate(connector.deps()).run(effect, { ...payment, version: 2 })
      return stateOf(requireAdmitted(change(payment)))
    }
    expect(await run(10 * MINUTE_MS)).toBe('approved')
    expect(connector.creates).toEqual([])
    expect(await run(MINUTE_MS)).toBe('completed')
  })

  test('is left to the operator five minutes after its first result, because it can be sent long after its approval', () => {
    const at = now()
    const refund_id = REFUND_ID
    const result = { kind: 'unknown', reason: 'time-out' } as const
    const undecided = applyProviderUpdate(approved(60 * MINUTE_MS), { refund_id, result, at, poll_at: at })
    const anomaliesAfter = (wait_ms: number) => {
      const looked_at = new Date(at.getTime() + wait_ms)
      const reported = applyNotFoundUpdate(undecided, {
        refund_id,
        may_repeat: false,
        fingerprint: FINGERPRINT,
        at: looked_at,
      })
      return reported.effects.filter(recordAnomalyEffect.matches).length
    }
    expect([anomaliesAfter(5 * MINUTE_MS - 1), anomaliesAfter(5 * MINUTE_MS)]).toEqual([0, 1])
  })

  test.each([
    ['a window of 0', 0],
    ['a window that has ended', MINUTE_MS],
  ])('with %s leaves it to the operator, who can end it', async (_window, window_ms) => {
    const { creates, payment } = await poll({ kind: 'not_found' }, SUCCESS, window_ms, 6 * MINUTE_MS)
    expect(creates).toEqual([])
    expect(payment.effects.filter(recordAnomalyEffect.matches)).toMatchObject([
      { data: { kind: 'not_found_at_provider' } },
    ])
    const early = await poll({ kind: 'not_found' }, SUCCESS, window_ms, 4 * MINUTE_MS)
    expect(early.payment.effects.filter(recordAnomalyEffect.matches)).toEqual([])
    const decision = { decision: 'a:1', is_paid: true, at: now(), sends_callbacks: true }
    expect(endByOperator(payment, REFUND_ID, decision).status).toBe('partially_refunded')
    const failed = endByOperator(payment, REFUND_ID, { ...decision, is_paid: false })
    expect(failed.status).toBe('success')
    expect(requireRefund(failed, REFUND_ID)).toMatchObject({ error_code: 6044, operator_decision: 'a:1' })
  })
})
