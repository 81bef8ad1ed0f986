import { describe, expect, test } from '@jest/globals'
import { isFinal } from '#lib/contract/payment-status.ts'
import { CREATE_RESPONSE, CREATED_AT, newDeposit, STATUSES } from '../payment.fixture.ts'
import { recordAnomalyEffect } from './anomaly.ts'
import { applyExpiry, type ExpiryUpdate } from './apply-expiry.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { LookupResult } from './call-result.ts'
import type { Payment } from './payment.ts'
import { expirePaymentEffect, pollProviderEffect } from './payment-effects.ts'

const deposit = newDeposit({ status: 'processing', provider_accounts: ['first'], effects: [] })
const at = deposit.expires_at
const ask_again_at = new Date(at.getTime() + 15_000)
const amount = { minor: deposit.amount, currency: deposit.currency }
const SUCCESS: LookupResult = { kind: 'success', provider_id: 'p-1', amount, completed_at: at }
const UNKNOWN: LookupResult = { kind: 'unknown', reason: 'time-out' }

function expire(payment: Payment, result: LookupResult, changes: Partial<ExpiryUpdate> = {}): Payment {
  return applyExpiry(payment, {
    attempt_number: 1,
    result,
    at,
    ask_again_at,
    sends_callbacks: true,
    ...changes,
  })
}

// P8
describe('a payment that is open at its expiry', () => {
  test.each<[string, LookupResult, object]>([
    ['succeeds when it is paid', SUCCESS, { status: 'success', finished_at: at }],
    [
      'is canceled when it is canceled',
      { kind: 'canceled', code: 6012 },
      { status: 'canceled', error_code: 6012 },
    ],
    [
      'is declined when it is pending',
      { kind: 'pending', provider_id: 'p-1' },
      { status: 'declined', error_code: 6011 },
    ],
    [
      'is declined when it was declined',
      { kind: 'declined', code: 6044 },
      { status: 'declined', error_code: 6011 },
    ],
    ['is declined when it is not known', { kind: 'not_found' }, { status: 'declined', error_code: 6011 }],
  ])('%s', (_title, result, expected) => {
    for (const status of ['created', 'processing'] as const)
      expect(expire({ ...deposit, status }, result)).toMatchObject(expected)
  })

  test('is declined with an anomaly when another amount was paid', () => {
    const expired = expire(deposit, { ...SUCCESS, amount: { ...amount, minor: 1n } })
    expect(expired).toMatchObject({ status: 'declined', error_code: 6011 })
    expect(expired.effects.some(recordAnomalyEffect.matches)).toBe(true)
  })

  test('waits a minute for a provider that does not respond, and is declined then', () => {
    const waiting = expire(deposit, UNKNOWN)
    expect(waiting).toMatchObject({
      status: 'processing',
      effects: [{ kind: expirePaymentEffect.kind, due_at: ask_again_at }],
    })
    const last_ms = deposit.expires_at.getTime() + 60_000
    expect(expire(deposit, UNKNOWN, { at: new Date(last_ms - 1) }).status).toBe('processing')
    expect(expire(deposit, UNKNOWN, { at: new Date(last_ms) }).status).toBe('declined')
  })

  test('keeps what else it has to do while it waits, and is asked for again once', () => {
    const poll = pollProviderEffect.newEffect(deposit, {}, { at })
    const waiting = expire({ ...deposit, effects: [poll] }, UNKNOWN)
    expect(waiting.effects).toMatchObject([poll, { kind: expirePaymentEffect.kind, due_at: ask_again_at }])
    expect(expire(waiting, UNKNOWN)).toBe(waiting)
  })

  test('is asked for again when another attempt began since the question', () => {
    const moved = { ...deposit, attempt: { number: 2, account_id: 'second', created_at: at } }
    for (const result of [SUCCESS, { kind: 'not_found' } as const])
      expect(expire(moved, result)).toMatchObject({
        status: 'processing',
        effects: [{ due_at: ask_again_at }],
      })
  })
})

// P7, P8
test.each(STATUSES.filter(isFinal))('a payment in %s keeps its status at its expiry', (status) => {
  const payment = newDeposit({ status, effects: [] })
  for (const result of [UNKNOWN, { kind: 'not_found' } as const])
    expect(expire(payment, result)).toBe(payment)
  const found_paid = expire(payment, SUCCESS)
  expect(found_paid).toMatchObject({ status, history: payment.history })
  const is_contradicted = status === 'error' || status === 'canceled' || status === 'declined'
  expect(found_paid.effects.map(({ kind }) => kind)).toEqual(
    is_contradicted ? [recordAnomalyEffect.kind] : [],
  )
})

// P4, P8
describe('a payment that an earlier account has called paid', () => {
  const attempt = { number: 2, account_id: 'second', created_at: at }
  const provider_accounts = ['first', 'second']
  const open: Payment = { ...deposit, provider_accounts, attempt, earlier_successes: [1] }

  test.each<LookupResult>([
    { kind: 'pending', provider_id: 'p-2' },
    { kind: 'not_found' },
    { kind: 'declined', code: 6044 },
    { kind: 'canceled', code: 6012 },
  ])('is asked for there before it is declined: $kind', (result) => {
    const asked = expire(open, result, { attempt_number: 2 })
    expect(asked).toMatchObject({ status: 'processing', attempt: { number: 1, account_id: 'first' } })
    expect(asked.effects.filter(expirePaymentEffect.matches)).toMatchObject([{ due_at: at }])
    const next = { ...asked, effects: [] }
    expect(expire(next, SUCCESS)).toMatchObject({ status: 'success' })
    expect(expire(next, { kind: 'not_found' })).toMatchObject({ status: 'declined' })
  })

  test('succeeds where it is paid at the present account', () => {
    expect(expire(open, SUCCESS, { attempt_number: 2 })).toMatchObject({ status: 'success', attempt })
  })
})

// P4
test('a create that was not sent goes to no other account when its own has reported the payment, and others found nothing', () => {
  const poll_at = new Date(CREATED_AT.getTime() + 3_000)
  const first = { attempt_number: 1, at: CREATED_AT, poll_at }
  const not_sent = {
    ...first,
    result: { kind: 'not_sent' as const, reason: 'reset' },
    create: CREATE_RESPONSE,
  }
  const moved = applyProviderUpdate(newDeposit({ effects: [] }), not_sent)
  const pending = { ...first, result: { kind: 'pending' as const, provider_id: 'p-1' } }
  const asked = applyProviderUpdate({ ...moved, effects: [] }, pending)
  const returned = expire(asked, { kind: 'not_found' }, { attempt_number: 2, at: CREATED_AT })
  expect(returned.attempt.number).toBe(1)
  const again = applyProviderUpdate(returned, not_sent)
  expect(again.attempt.number).toBe(1)
  expect(again.effects.filter(pollProviderEffect.matches)).toMatchObject([{ due_at: poll_at }])
})
