import { describe, expect, test } from '@jest/globals'
import { now, useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { CallResult } from '../domain/call-result.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { createAtProviderEffect, pollProviderEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused' }
const PENDING: CallResult = { kind: 'pending', provider_id: 'p-1' }

/** A deposit that is created now, on a route of these accounts. */
function depositOn(accounts: readonly string[], changes: Partial<Payment> = {}): Payment {
  const created_at = now()
  const attempt = { number: 1, account_id: accounts[0] ?? '', created_at }
  return newDeposit({ provider_accounts: accounts, attempt, created_at, ...changes })
}

async function create(fixture: PaymentsFixture, deps: ProviderCallDeps, payment: Payment): Promise<Payment> {
  const runner = fixture.runner([bindCreateAtProvider(deps)])
  return requireAdmitted(await runner.runEffects(await runner.insert(payment)))
}

// P4
test('tries the next account under a new key while nothing was sent', async () => {
  await using fixture = await openPayments()
  const connector = scriptedConnector((account_id) => (account_id === 'third' ? PENDING : NOT_SENT))
  const deposit = depositOn(['first', 'second', 'third', 'fourth'])
  const payment = await create(fixture, connector.deps(), deposit)
  expect(payment).toMatchObject({ status: 'processing', attempt: { number: 3, account_id: 'third' } })
  const { payment_id } = payment
  expect(connector.creates.map(({ account_id, idempotency_key }) => [account_id, idempotency_key])).toEqual([
    ['first', `${payment_id}:1`],
    ['second', `${payment_id}:2`],
    ['third', `${payment_id}:3`],
  ])
})

test('fails with 7002 when no account can be reached', async () => {
  await using fixture = await openPayments()
  const { deps } = scriptedConnector(() => NOT_SENT)
  const payment = await create(fixture, deps(), depositOn(['first', 'second']))
  expect(payment).toMatchObject({ status: 'error', error_code: 7002 })
})

// P4
test('does not try another account when the request may have arrived', async () => {
  await using fixture = await openPayments()
  const connector = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }))
  const payment = await create(fixture, connector.deps(), depositOn(['first', 'second']))
  expect(payment).toMatchObject({ status: 'processing', attempt: { number: 1 } })
  expect(connector.creates).toHaveLength(1)
})

// P5
describe('a create over accounts that cannot be reached', () => {
  /** Creates a deposit on ten accounts. Each attempt takes `attempt_ms`; the last account has the result `last`. */
  async function createOnTen(attempt_ms: number, last: CallResult) {
    const clock = createAdjustableClock()
    const restoreClock = useClock(clock)
    clock.stopWall()
    const fixture = await openPayments()
    const connector = scriptedConnector((account_id) => {
      clock.stepWall(attempt_ms)
      return account_id === 'a10' ? last : NOT_SENT
    })
    const runner = fixture.runner([bindCreateAtProvider(connector.deps())], { sweep_ms: 20 })
    const accounts = Array.from({ length: 10 }, (_, index) => `a${index + 1}`)
    const deposit = depositOn(accounts)
    const answered = requireAdmitted(await runner.runEffects(await runner.insert(deposit)))
    return {
      answered,
      took_ms: now().getTime() - deposit.created_at.getTime(),
      timeouts: () => connector.creates.map(({ timeout_ms }) => timeout_ms),
      /** Waits until the sweeper has created the deposit. */
      async ended() {
        runner.start()
        return await eventually(
          async () => {
            const stored = await fixture.store.payments.get(keyOfPayment(deposit))
            const wait_ms = (stored?.external_due_at?.getTime() ?? 0) - now().getTime()
            const is_leased = stored?.effects.some(({ lease }) => lease !== undefined)
            if (wait_ms >= 0 && !is_leased) clock.stepWall(wait_ms + 1)
            return stored
          },
          (stored) => stored?.status !== 'created',
        )
      },
      async [Symbol.asyncDispose]() {
        await fixture[Symbol.asyncDispose]()
        restoreClock()
      },
    }
  }

  test('is answered within its time, which all accounts share, and the rest is tried after the answer', async () => {
    await using ten = await createOnTen(5_000, PENDING)
    expect(ten.took_ms).toBeLessThanOrEqual(30_000)
    expect(ten.answered).toMatchObject({ status: 'created', attempt: { number: 7 } })
    expect(ten.timeouts()).toEqual([30_000, 25_000, 20_000, 15_000, 10_000, 5_000])
    expect(await ten.ended()).toMatchObject({ status: 'processing', attempt: { account_id: 'a10' } })
    expect(ten.timeouts().slice(6)).toEqual([30_000, 30_000, 30_000, 30_000])
  })

  test('fails after the answer when the rest cannot be reached either', async () => {
    await using ten = await createOnTen(5_000, NOT_SENT)
    expect(ten.answered.status).toBe('created')
    expect(await ten.ended()).toMatchObject({ status: 'error', error_code: 7002 })
  })

  test('asks no account for which hardly any time is left before the answer', async () => {
    await using ten = await createOnTen(28_500, PENDING)
    expect(ten.timeouts()).toEqual([30_000])
    expect(ten.answered).toMatchObject({ status: 'created', attempt: { number: 2 } })
  })
})

test('is not given up when the process stops: a poll of the next process sends it again', async () => {
  await using fixture = await openPayments()
  const stop = new AbortController()
  const stopping = scriptedConnector(() => {
    stop.abort()
    return NOT_SENT
  })
  const deps = stopping.deps({ stopping: stop.signal })
  const payment = await create(fixture, deps, depositOn(['first', 'second']))
  expect(payment).toMatchObject({ status: 'processing', attempt: { number: 1 } })
  expect(stopping.creates).toHaveLength(1)

  const connector = scriptedConnector(() => PENDING, { idempotency_window_ms: Number.POSITIVE_INFINITY })
  const effect = payment.effects.find(pollProviderEffect.matches)
  const stored = await fixture.store.payments.get(keyOfPayment(payment))
  if (!effect || !stored) throw new Error('the payment has no poll')
  const polled = (await bindPollProvider(connector.deps()).run(effect, stored))(stored)
  const repeat = polled.effects.find(repeatCreateEffect.matches)
  if (!repeat) throw new Error('the poll does not repeat the create')
  await bindRepeatCreate(connector.deps()).run(repeat, { ...stored, ...polled })
  expect(connector.creates).toMatchObject([{ account_id: 'first', earlier_result_unknown: true }])
})

// P4
test('is not sent again after a crash, because the first request may have arrived', async () => {
  const connector = scriptedConnector(() => PENDING)
  const payment = depositOn(['first'])
  const [effect] = payment.effects
  if (!effect) throw new Error('the payment has no create')
  const bound = bindCreateAtProvider(connector.deps())
  const change = await bound.run({ ...effect, tries: 2 }, { ...payment, version: 2 })
  expect(change(payment)).toMatchObject({ status: 'processing' })
  expect(connector.creates).toEqual([])
})

test('is not sent for a payment that is final', async () => {
  await using fixture = await openPayments()
  const connector = scriptedConnector(() => PENDING)
  const payment = await create(fixture, connector.deps(), depositOn(['first'], { status: 'declined' }))
  expect(payment).toMatchObject({ status: 'declined', effects: [] })
  expect(connector.creates).toEqual([])
})

describe('a process that was paused after the effect began, so that the others may take it for dead', () => {
  const paused = { mayAct: () => false }

  test('sends no create, and leaves it with all its tries', async () => {
    await using fixture = await openPayments()
    const connector = scriptedConnector(() => PENDING)
    const payment = await create(fixture, connector.deps(paused), depositOn(['first', 'second']))
    expect(connector.creates).toEqual([])
    expect(payment).toMatchObject({ status: 'created', attempt: { number: 1 } })
    expect(payment.effects.filter(createAtProviderEffect.matches)).toMatchObject([{ tries: 0 }])
  })

  test('neither repeats a create nor asks the provider', async () => {
    await using fixture = await openPayments()
    let lookups = 0
    const connector = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }), {
      idempotency_window_ms: Number.POSITIVE_INFINITY,
      async lookUp() {
        lookups += 1
        return { kind: 'not_found' }
      },
    })
    const payment = await create(fixture, connector.deps(), depositOn(['first']))
    const poll = payment.effects.find(pollProviderEffect.matches)
    const stored = await fixture.store.payments.get(keyOfPayment(payment))
    if (!poll || !stored) throw new Error('the payment has no poll')
    const asked = (await bindPollProvider(connector.deps(paused)).run(poll, stored))(stored)
    expect([lookups, asked.effects.find(repeatCreateEffect.matches)]).toEqual([0, undefined])

    const polled = (await bindPollProvider(connector.deps()).run(poll, stored))(stored)
    const repeat = polled.effects.find(repeatCreateEffect.matches)
    if (!repeat) throw new Error('the poll does not repeat the create')
    await bindRepeatCreate(connector.deps(paused)).run(repeat, { ...stored, ...polled })
    expect(connector.creates).toHaveLength(1)
  })
})
