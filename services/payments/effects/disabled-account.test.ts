import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { AccountState } from '../domain/account-state.ts'
import { recordAnomalyEffect } from '../domain/anomaly.ts'
import type { LookupResult } from '../domain/call-result.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { createAtProviderEffect, expirePaymentEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { requireRefund } from '../domain/refund.ts'
import { applyRefundHold, beginApproval, decideReservation } from '../domain/refund-transitions.ts'
import { ALL_ENABLED, FINGERPRINT, newDeposit } from '../payment.fixture.ts'
import { bindExpirePayment } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const REFUND_ID = 'refund-1'
const HOUR_MS = 3_600_000

/** Accounts in these states; the others are enabled. */
function statesOf(
  states: Readonly<Record<string, AccountState | 'unknown'>>,
): ProviderCallDeps['account_states'] {
  return {
    takesPayments: (id) => (states[id] ?? 'enabled') === 'enabled',
    isDisabled: (id) => states[id] === 'disabled',
    recentStateOf: async (id) => states[id] ?? 'enabled',
  }
}

/** Runs the create of a payment, or of its refund. */
async function create(
  payment: Payment,
  states: Readonly<Record<string, AccountState | 'unknown'>>,
  refund_id?: string,
  tries = 1,
) {
  const connector = scriptedConnector(() => ({ kind: 'pending', provider_id: 'p-1' }))
  const effect = createAtProviderEffect.newEffect(payment, { refund_id }, { at: now() })
  const without = { ...payment, effects: payment.effects.filter(({ id }) => id !== effect.id) }
  const deps = connector.deps({ account_states: statesOf(states) })
  const change = await bindCreateAtProvider(deps).run({ ...effect, tries }, { ...payment, version: 1 })
  return { creates: connector.creates, payment: requireAdmitted(change(without)) }
}

const creates = ({ effects }: StoredPayment) => effects.filter(createAtProviderEffect.matches)

const deposit = (...provider_accounts: readonly string[]): Payment => newDeposit({ provider_accounts })
const withdrawal = (...provider_accounts: readonly string[]): Payment => ({
  ...newDeposit({ provider_accounts }),
  direction: 'out',
  beneficiary: { account_id: '123456789012', ifsc: 'SBIN0001234' },
})

// P20
describe('an unsent create of a disabled account', () => {
  test('goes to the next account that takes payments, whose number is its place in the route', async () => {
    const after = await create(deposit('first', 'second', 'third'), { first: 'disabled', second: 'draining' })
    expect(after.creates).toEqual([])
    expect(after.payment.attempt).toMatchObject({ number: 3, account_id: 'third' })
    expect(creates(after.payment)).toHaveLength(1)
  })

  test('of a deposit fails with 7002 without a further account', async () => {
    const { payment } = await create(deposit('first', 'second'), { first: 'disabled', second: 'disabled' })
    expect(payment).toMatchObject({ status: 'error', error_code: 7002 })
  })

  test('of a withdrawal waits without a further account, and has all its tries then', async () => {
    const { creates: sent, payment } = await create(withdrawal('first'), { first: 'disabled' })
    expect([sent, payment.status]).toEqual([[], 'created'])
    expect(creates(payment)).toMatchObject([{ tries: 0 }])
    expect(creates(payment)[0]?.due_at.getTime()).toBeGreaterThan(now().getTime())
    const enabled = await create(payment, {})
    expect(enabled.creates).toMatchObject([{ account_id: 'first', earlier_result_unknown: false }])
  })

  test.each(['disabled', 'draining'] as const)(
    'of a withdrawal waits while the next one is %s',
    async (state) => {
      const { payment } = await create(withdrawal('first', 'second'), { first: 'disabled', second: state })
      expect(payment).toMatchObject({ status: 'created', attempt: { number: 1, account_id: 'first' } })
      expect(creates(payment)).toMatchObject([{ tries: 0 }])
    },
  )

  test('of a withdrawal goes to an account that takes payments', async () => {
    const { payment } = await create(withdrawal('first', 'second'), { first: 'disabled' })
    expect(payment.attempt).toMatchObject({ number: 2, account_id: 'second' })
  })

  test('waits while the state cannot be read', async () => {
    const { creates: sent, payment } = await create(deposit('first', 'second'), { first: 'unknown' })
    expect([sent, payment.status, payment.attempt.number]).toEqual([[], 'created', 1])
    expect(creates(payment)).toMatchObject([{ tries: 0 }])
  })
})

// P20
test('a create that may have been sent before the switch is never called not sent', async () => {
  const { creates: sent, payment } = await create(
    deposit('first', 'second'),
    { first: 'disabled' },
    undefined,
    2,
  )
  expect([sent, payment.status, payment.attempt.number]).toEqual([[], 'processing', 1])
})

// P20
test('a draining account still gets the create that was chosen for it', async () => {
  const { creates: sent } = await create(deposit('first', 'second'), { first: 'draining' })
  expect(sent).toMatchObject([{ account_id: 'first' }])
})

// P20
test.each(['disabled', 'draining'] as const)('a refund at a %s account', async (state) => {
  const at = now()
  const paid = newDeposit({ status: 'success', effects: [] })
  const request = { refund_id: REFUND_ID, c_id: 'c', amount: 400n, reason: '' }
  const reserved = decideReservation(paid, request, at).payment
  const begun = beginApproval(reserved, REFUND_ID, at, FINGERPRINT).payment
  const hold = { refund_id: REFUND_ID, hold_id: `${REFUND_ID}:hold:1`, refused_code: undefined }
  const approved = applyRefundHold(begun, hold, at)
  const after = await create(approved, { first: state }, REFUND_ID)
  expect(requireRefund(after.payment, REFUND_ID).state).toBe('approved')
  expect(after.creates).toHaveLength(state === 'draining' ? 1 : 0)
  expect(creates(after.payment)).toHaveLength(state === 'draining' ? 0 : 1)
})

// P20
test.each([
  ['disabled', 0],
  ['unknown', 0],
  ['draining', 1],
] as const)('a create is repeated at a %s account %d times', async (state, times) => {
  const connector = scriptedConnector(() => ({ kind: 'pending', provider_id: 'p-1' }), {
    idempotency_window_ms: HOUR_MS,
  })
  const at = now()
  const payment = newDeposit({
    status: 'processing',
    effects: [],
    attempt: { number: 1, account_id: 'first', created_at: at },
  })
  const effect = repeatCreateEffect.newEffect(payment, {}, { at })
  const deps = connector.deps({ account_states: statesOf({ first: state }) })
  const change = await bindRepeatCreate(deps).run(effect, { ...payment, version: 1 })
  expect(connector.creates).toHaveLength(times)
  expect(requireAdmitted(change(payment)).status).toBe('processing')
})

// P8, P20
describe('the expiry of a deposit', () => {
  async function expire(answer: LookupResult, ago_ms: number, states = ALL_ENABLED): Promise<Payment> {
    const connector = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
      lookUp: async () => answer,
    })
    const expires_at = new Date(now().getTime() - ago_ms)
    const payment = newDeposit({ status: 'processing', expires_at, effects: [] })
    const expiry = expirePaymentEffect.newEffect(payment, {}, { at: expires_at })
    const deps = connector.deps({ account_states: states })
    const change = await bindExpirePayment(deps).run(expiry, { ...payment, version: 1 })
    return requireAdmitted(change(payment))
  }
  const silent: LookupResult = { kind: 'unknown', reason: 'timeout' }
  const disabled = statesOf({ first: 'disabled' })

  test('waits for the answer of a disabled account, however long', async () => {
    expect((await expire(silent, HOUR_MS)).status).toBe('declined')
    const waiting = await expire(silent, HOUR_MS, disabled)
    expect(waiting.status).toBe('processing')
    expect(waiting.effects.some(expirePaymentEffect.matches)).toBe(true)
    expect(waiting.effects.some(recordAnomalyEffect.matches)).toBe(false)
  })

  test('at a disabled account is an anomaly after 24 hours', async () => {
    const waiting = await expire(silent, 24 * HOUR_MS, disabled)
    expect(waiting.status).toBe('processing')
    expect(waiting.effects.find(recordAnomalyEffect.matches)?.data).toMatchObject({ kind: 'open_too_long' })
  })

  test('ends by the answer of a disabled account', async () => {
    expect((await expire({ kind: 'not_found' }, HOUR_MS, disabled)).status).toBe('declined')
  })
})
