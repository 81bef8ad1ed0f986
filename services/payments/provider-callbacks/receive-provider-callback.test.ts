import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { createSwitchedClockGuard, trustedClock } from '../../../test/support/clock-guard.ts'
import { installManualClock, settled } from '../../../test/support/manual-clock.ts'
import type { OperationName, ProviderCallback } from '../connectors/connector.ts'
import type { ProviderStatus } from '../domain/call-result.ts'
import { operationKey } from '../domain/operation.ts'
import { type Payment, type RestoreMark, requireAdmitted } from '../domain/payment.ts'
import { requireRefund } from '../domain/refund.ts'
import { applyRefundHold, beginApproval, decideReservation } from '../domain/refund-transitions.ts'
import { scriptedConnector } from '../effects/scripted-connector.fixture.ts'
import { newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import {
  createProviderCallbackReceiver,
  type ReceiveProviderCallback,
  type ReceiveProviderCallbackDeps,
} from './receive-provider-callback.ts'

const OF_ONE_ACCOUNT = 64
const VERIFIED = Buffer.from('verified')

let fixture: PaymentsFixture
let payment: Payment
beforeEach(async () => {
  fixture = await openPayments()
  payment = newDeposit({ status: 'processing', effects: [] })
  await fixture.runner().insert(payment)
})
afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** A receiver of callbacks that are verified when their body says so, and report `result` of the operation. */
function receiver(
  changes: Partial<ReceiveProviderCallbackDeps> = {},
  operation: OperationName = { kind: 'deposit', idempotency_key: `${payment.payment_id}:1` },
  result: ProviderStatus = { kind: 'pending', provider_id: 'p-1' },
): ReceiveProviderCallback {
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
    parseCallback: ({ body }) => (VERIFIED.equals(body) ? { ...operation, result } : undefined),
  })
  const { accountOf } = deps()
  return createProviderCallbackReceiver({
    payments: fixture.store.payments,
    anomalies: fixture.store.anomalies,
    runner: fixture.runner(),
    findAccount: (account_id) => accountOf({ ...payment, attempt: { ...payment.attempt, account_id } }),
    refreshStale: async (stored) => stored,
    clock_guard: trustedClock,
    ...changes,
  })
}

function callback(account_id: string, body = VERIFIED, h_id = payment.h_id): ProviderCallback {
  const { merchant_id, environment } = payment
  const path = `/callbacks/${account_id}/${merchant_id}/${environment}/${h_id}`
  return { method: 'POST', path, headers: {}, body }
}

test('one account whose callbacks hang leaves room for the others, and for refusals of its own', async () => {
  const { promise: store_answers, resolve } = Promise.withResolvers<void>()
  const { payments } = fixture.store
  let hangs = true
  const receive = receiver({
    payments: {
      ...payments,
      async find(...question) {
        if (hangs) await store_answers
        return payments.find(...question)
      },
    },
  })
  const hanging = Array.from({ length: OF_ONE_ACCOUNT }, () => receive(callback(payment.attempt.account_id)))
  await settled()
  hangs = false
  expect(await receive(callback(payment.attempt.account_id))).toBe(503)
  expect(await receive(callback(payment.attempt.account_id, Buffer.from('forged')))).toBe(401)
  // Another account was not asked for this payment, which is a result too.
  expect(await receive(callback('other'))).toBe(404)
  resolve()
  expect(new Set(await Promise.all(hanging))).toEqual(new Set([200]))
  expect(await receive(callback(payment.attempt.account_id))).toBe(200)
})

test('a callback rejects when the store is unavailable, and gives its room back', async () => {
  const { payments } = fixture.store
  let is_down = true
  const receive = receiver({
    payments: {
      ...payments,
      find: (...question) => (is_down ? Promise.reject(new Error('store down')) : payments.find(...question)),
    },
  })
  for (let count = 0; count < 2 * OF_ONE_ACCOUNT; count += 1)
    await expect(receive(callback(payment.attempt.account_id))).rejects.toThrow('store down')
  is_down = false
  expect(await receive(callback(payment.attempt.account_id))).toBe(200)
})

// R8
test('a process whose clock is wrong judges no signature, because it would call a good one expired', async () => {
  const clock_guard = createSwitchedClockGuard()
  const receive = receiver({ clock_guard })
  clock_guard.setTrusted(false)
  for (const body of [VERIFIED, Buffer.from('expired')])
    expect(await receive(callback(payment.attempt.account_id, body))).toBe(503)
  clock_guard.setTrusted(true)
  expect(await receive(callback(payment.attempt.account_id))).toBe(200)
})

// P3
test('a callback about a withdrawal that is not admitted gets 404', async () => {
  const payment_id = uuidv7()
  const reserving = newReservation({ c_id: payment_id, payment_id, h_id: payment_id, ids: [payment_id] })
  await fixture.store.payments.insert(reserving)
  const { account_id } = reserving.attempt
  const receive = receiver({}, { kind: 'withdrawal', idempotency_key: `${payment_id}:1` })
  expect(await receive(callback(account_id, VERIFIED, payment_id))).toBe(404)
})

// P4, P7
describe('a report that an attempt is paid', () => {
  const amount = { minor: 150_000n, currency: 'INR' }
  const paid = { kind: 'success', provider_id: 'p-2', amount, completed_at: now() } as const

  /** Stores a deposit at its first account, and receives the report of an account under a key of the deposit. */
  async function report(account_id: string, key_end: string, changes: Partial<Payment> = {}) {
    const payment_id = uuidv7()
    const ids = { c_id: payment_id, payment_id, h_id: payment_id, ids: [payment_id] }
    const deposit = newDeposit({ ...ids, status: 'processing', effects: [], ...changes })
    await fixture.store.payments.insert(deposit)
    const operation = { kind: 'deposit', idempotency_key: `${payment_id}${key_end}` } as const
    const status = await receiver({}, operation, paid)(callback(account_id, VERIFIED, payment_id))
    return { status, after: await fixture.store.payments.get(keyOfPayment(deposit)) }
  }

  test('is kept when the payment has gone back to an earlier attempt since', async () => {
    const { status, after } = await report('second', ':2', { highest_attempt: 2 })
    expect(status).toBe(200)
    expect(after).toMatchObject({ status: 'processing', attempt: { number: 1 }, earlier_successes: [2] })
  })

  // P19
  test('is applied to a later attempt, which a restored payment may have made after its backup', async () => {
    const { status, after } = await report('second', ':2', { restored: 'asking_accounts' })
    expect([status, after?.status]).toEqual([200, 'success'])
    expect(after).toMatchObject({ attempt: { number: 2 } })
  })

  test.each([
    ['an attempt that was not made', 'second', ':2'],
    ['the attempt of another account', 'second', ':1'],
    ['no number of an attempt', 'first', ':01'],
    ['no attempt', 'first', ''],
  ])('gets 404 and changes nothing when its key names %s', async (_what, account_id, key_end) => {
    const { status, after } = await report(account_id, key_end)
    expect(status).toBe(404)
    expect(after).toMatchObject({ status: 'processing', effects: [] })
    expect(after).not.toHaveProperty('earlier_successes')
  })
})

// P7, S9
describe('a report that a refund is paid', () => {
  const refundId = 'refund-1'
  const paid = { kind: 'success', provider_id: 'p-9', completed_at: now() } as const

  /** Stores a deposit with a refund of 4.00, and receives the report of an account. */
  async function report(
    account_id: string,
    is_approved: boolean,
    changes: Partial<Payment> = {},
    restored?: RestoreMark,
  ) {
    const at = now()
    const payment_id = uuidv7()
    const ids = { c_id: payment_id, payment_id, h_id: payment_id, ids: [payment_id] }
    const deposit = newDeposit({ ...ids, status: 'success', effects: [], ...changes })
    const request = { refund_id: refundId, c_id: 'c', amount: 400n, reason: '' }
    const requested = decideReservation(deposit, request, at).payment
    const approving = beginApproval(requested, refundId, at).payment
    const hold = { refund_id: refundId, hold_id: `${refundId}:hold:1`, refused_code: undefined }
    const stored = is_approved ? applyRefundHold(approving, hold, at) : requested
    const refunds = stored.refunds?.map((refund) => ({ ...refund, restored }))
    await fixture.store.payments.insert({ ...stored, refunds: refunds ?? [], effects: [] })
    const operation = { kind: 'refund', idempotency_key: operationKey(deposit, refundId) } as const
    const receive = receiver({}, operation, { ...paid, amount: { minor: 400n, currency: 'INR' } })
    const status = await receive(callback(account_id, VERIFIED, payment_id))
    const after = await fixture.store.payments.get(keyOfPayment(deposit))
    const anomalies = await fixture.store.anomalies.find('by_open', {}, { limit: 10 })
    return { status, state: after && requireRefund(requireAdmitted(after), refundId).state, anomalies }
  }

  test('completes it when it comes from the account of its deposit', async () => {
    expect(await report('first', true)).toEqual({ status: 200, state: 'completed', anomalies: [] })
  })

  test('completes it when it comes from the earlier account that was paid', async () => {
    const attempt = { number: 2, account_id: 'second', created_at: now() }
    const changes = { provider_accounts: ['first', 'second'], attempt, paid_attempt: 1 }
    expect(await report('first', true, changes)).toMatchObject({ status: 200, state: 'completed' })
    expect(await report('second', true, changes)).toMatchObject({ status: 404, state: 'approved' })
  })

  // P19
  test('is about the refund when it was restored: it may have been approved after its backup', async () => {
    const reported = await report('first', false, {}, 'asking_accounts')
    expect(reported).toEqual({ status: 200, state: 'pending', anomalies: [] })
  })

  // P19
  test('completes it when only the ledger knows that its deposit was paid: it went to any account of the route', async () => {
    const provider_accounts = ['first', 'second']
    const report_of = (restored?: RestoreMark) => report('second', true, { provider_accounts, restored })
    expect(await report_of('booked')).toMatchObject({ status: 200, state: 'completed' })
    expect(await report_of()).toMatchObject({ status: 404, state: 'approved' })
  })

  test.each([
    ['from an account that was not asked for it', 'second', true, 'approved'],
    ['before it was sent', 'first', false, 'pending'],
  ])('%s gets 404 and is an unmatched report', async (_what, account_id, is_approved, state) => {
    const reported = await report(account_id, is_approved)
    expect(reported).toMatchObject({ status: 404, state, anomalies: [{ kind: 'unmatched_report' }] })
    expect(reported.anomalies).toHaveLength(1)
  })
})

test('unverified callbacks let the payment be polled at most once per second and account', async () => {
  using clock = installManualClock()
  const polled: string[] = []
  let done = Promise.withResolvers<void>()
  const receive = receiver({
    async refreshStale(stored) {
      polled.push(stored.payment_id)
      done.resolve()
      return stored
    },
  })
  const forge = (account_id: string) => receive(callback(account_id, Buffer.from('forged')))
  for (let count = 0; count < 100; count += 1) expect(await forge(payment.attempt.account_id)).toBe(401)
  await done.promise
  // An account that the payment was not sent to says nothing about it.
  expect(await forge('other')).toBe(401)
  await clock.advance(1_000)
  done = Promise.withResolvers<void>()
  await forge(payment.attempt.account_id)
  await done.promise
  expect(polled).toEqual([payment.payment_id, payment.payment_id])
})
