import { describe, expect, test } from '@jest/globals'
import { now, useClock } from '#lib/platform/time.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { ProviderOutcome } from '../connectors/connector.ts'
import { createEffect } from '../domain/apply-provider-update.ts'
import type { Payment } from '../domain/payment.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture, scriptedProvider } from '../payments.fixture.ts'
import { type ProviderParts, providerKinds } from './provider.ts'

const NOT_SENT: ProviderOutcome = { kind: 'not_sent', reason: 'refused' }
const PENDING: ProviderOutcome = { kind: 'pending', provider_id: 'p-1' }

/** A deposit of this very moment, on as many accounts. */
function fresh(accounts: readonly string[], changes: Partial<Payment> = {}): Payment {
  const created_at = now()
  const attempt = { number: 1, account_id: accounts[0] ?? '', created_at }
  const { payment_id } = newDeposit()
  const effects = [createEffect({ payment_id, attempt })]
  return newDeposit({ provider_accounts: accounts, attempt, created_at, effects, ...changes })
}

async function create(fixture: PaymentsFixture, parts: ProviderParts, payment: Payment): Promise<Payment> {
  const runner = fixture.runner(providerKinds(parts))
  return runner.drive(await runner.insert(payment))
}

describe('the create at a provider', () => {
  test('goes on to the next account, under a new key, while nothing was sent', async () => {
    await using fixture = await openPayments()
    const provider = scriptedProvider((account_id) => (account_id === 'third' ? PENDING : NOT_SENT))
    const payment = await create(fixture, provider.parts(), fresh(['first', 'second', 'third', 'fourth']))
    expect(payment).toMatchObject({ state: 'processing', attempt: { number: 3, account_id: 'third' } })
    const { payment_id } = payment
    expect(provider.asked.map(({ account_id, idempotency_key }) => [account_id, idempotency_key])).toEqual([
      ['first', `${payment_id}:1`],
      ['second', `${payment_id}:2`],
      ['third', `${payment_id}:3`],
    ])
  })

  test('ends with 7002 when no account could be reached', async () => {
    await using fixture = await openPayments()
    const { parts } = scriptedProvider(() => NOT_SENT)
    const payment = await create(fixture, parts(), fresh(['first', 'second']))
    expect(payment).toMatchObject({ state: 'error', error_code: 7002 })
  })

  test('never goes on to another account when the request may have arrived', async () => {
    await using fixture = await openPayments()
    const provider = scriptedProvider(() => ({ kind: 'unknown', reason: 'reset' }))
    const payment = await create(fixture, provider.parts(), fresh(['first', 'second']))
    expect(payment).toMatchObject({ state: 'processing', attempt: { number: 1 } })
    expect(provider.asked).toHaveLength(1)
  })

  test('takes the time of one create for all accounts together', async () => {
    const clock = createManualClock()
    const restore = useClock(clock)
    try {
      await using fixture = await openPayments()
      const provider = scriptedProvider(async () => {
        await clock.advance(25_000)
        return NOT_SENT
      })
      await create(fixture, provider.parts(), fresh(['first', 'second', 'third']))
      expect(provider.asked.map(({ timeout_ms }) => timeout_ms)).toEqual([30_000, 5_000, 2_000])
    } finally {
      restore()
    }
  })

  test('is not given up because this process stops: the next one asks again', async () => {
    await using fixture = await openPayments()
    const stop = new AbortController()
    const stopping = scriptedProvider(() => {
      stop.abort()
      return NOT_SENT
    })
    const parts = stopping.parts({ stopping: stop.signal })
    const left = await create(fixture, parts, fresh(['first', 'second']))
    expect(left).toMatchObject({ state: 'processing', attempt: { number: 1 } })
    expect(stopping.asked).toHaveLength(1)

    const provider = scriptedProvider(() => PENDING)
    const poll = providerKinds(provider.parts())['provider_poll']
    const effect = left.effects.find(({ kind }) => kind === 'provider_poll')
    const stored = await fixture.store.payments.get({
      merchant_id: '7001',
      environment: 'test',
      c_id: 'order-1',
    })
    if (!poll || !effect || !stored) throw new Error('nothing is left to be polled')
    await poll.run(effect, stored)
    expect(provider.asked).toMatchObject([{ account_id: 'first', repeated: true }])
  })

  test('is not sent again by a process that does not know what became of it', async () => {
    await using fixture = await openPayments()
    const provider = scriptedProvider(() => PENDING)
    const kind = providerKinds(provider.parts())['provider_create']
    const payment = fresh(['first'])
    const [effect] = payment.effects
    if (!kind || !effect) throw new Error('a payment has a create')
    const outcome = await kind.run({ ...effect, tries: 2 }, { ...payment, version: 2 })
    expect(outcome(payment)).toMatchObject({ state: 'processing' })
    expect(provider.asked).toEqual([])
    expect(fixture.store).toBeDefined()
  })

  test('is not begun for a payment that has ended meanwhile', async () => {
    await using fixture = await openPayments()
    const provider = scriptedProvider(() => PENDING)
    const payment = await create(fixture, provider.parts(), fresh(['first'], { state: 'declined' }))
    expect(payment).toMatchObject({ state: 'declined', effects: [] })
    expect(provider.asked).toEqual([])
  })
})

describe('a poll that finds nothing', () => {
  const polled = async (answer: ProviderOutcome, idempotent: boolean) => {
    const provider = scriptedProvider(() => answer, { create_is_idempotent: idempotent })
    const poll = providerKinds(provider.parts())['provider_poll']
    const payment = fresh(['first', 'second'], { state: 'processing' })
    const [effect] = payment.effects
    if (!poll || !effect) throw new Error('a payment has an effect')
    const outcome = await poll.run(effect, { ...payment, version: 2 })
    return { asked: provider.asked, payment: outcome({ ...payment, effects: [] }) }
  }

  test('sends the same key again where that is safe', async () => {
    const { asked, payment } = await polled(PENDING, true)
    expect(asked).toMatchObject([{ account_id: 'first', repeated: true, timeout_ms: 30_000 }])
    expect(payment).toMatchObject({ state: 'processing', p_id: 'p-1' })
  })

  test('never takes it for a proof that nothing was sent', async () => {
    const { payment } = await polled(NOT_SENT, true)
    expect(payment).toMatchObject({ state: 'processing', attempt: { number: 1 } })
  })

  test('waits for the operator elsewhere', async () => {
    const { asked, payment } = await polled(PENDING, false)
    expect(asked).toEqual([])
    expect(payment).toMatchObject({ state: 'processing', effects: [{ kind: 'provider_poll' }] })
  })
})
