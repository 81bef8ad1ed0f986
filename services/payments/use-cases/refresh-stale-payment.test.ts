import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { now, useClock } from '#lib/base/time.ts'
import { type AdjustableClock, createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { LookupResult } from '../domain/call-result.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'
import { bindPollProvider } from '../effects/ask-provider.ts'
import { scriptedConnector } from '../effects/scripted-connector.fixture.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { createRefreshStalePayment } from './refresh-stale-payment.ts'

const MINUTE_MS = 60_000
const PENDING: LookupResult = { kind: 'pending', provider_id: 'p-1' }

let fixture: PaymentsFixture
let clock: AdjustableClock
let restoreClock: () => void
beforeAll(async () => {
  fixture = await openPayments()
})
beforeEach(() => {
  clock = createAdjustableClock()
  clock.stopWall()
  restoreClock = useClock(clock)
})
afterEach(() => restoreClock())
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** A stored payment that is polled in `poll_in_ms`, and the refresh, whose provider gives each lookup `resultOf`. */
async function stalePayment(
  poll_in_ms: number,
  resultOf: () => LookupResult | Promise<LookupResult>,
  changes: Partial<Payment> = {},
) {
  let lookups = 0
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
    async lookUp() {
      lookups += 1
      return await resultOf()
    },
  })
  const runner = fixture.runner([bindPollProvider(deps())])
  const deposit = newDeposit({
    status: 'processing',
    c_id: randomUUID(),
    effects: [],
    ...changes,
  })
  const due_at = new Date(now().getTime() + poll_in_ms)
  const effects = [pollProviderEffect.newEffect(deposit, {}, { at: now(), due_at })]
  const payment = requireAdmitted(await runner.insert({ ...deposit, effects }))
  const read = async () => {
    const stored = await fixture.store.payments.get(keyOfPayment(payment))
    if (stored === undefined) throw new Error('the payment is gone')
    return requireAdmitted(stored)
  }
  return { payment, read, refresh: createRefreshStalePayment(runner), lookups: () => lookups }
}

function paid({ amount: minor, currency }: Payment): LookupResult {
  return { kind: 'success', provider_id: 'p-1', amount: { minor, currency }, completed_at: now() }
}

describe('a merchant that reads a payment', () => {
  test('gets the status that its provider has now, long before the next poll', async () => {
    const { payment, read, refresh } = await stalePayment(5 * MINUTE_MS, () => paid(payment))
    expect(await refresh(payment)).toMatchObject({ status: 'success' })
    expect(await read()).toMatchObject({ status: 'success' })
  })

  test('causes one question in 10 s, however often it reads', async () => {
    const { payment, read, refresh, lookups } = await stalePayment(5 * MINUTE_MS, () => PENDING)
    await refresh(payment)
    for (let reads = 0; reads < 20; reads += 1) await refresh(await read())
    clock.stepWall(9_999)
    await refresh(await read())
    expect(lookups()).toBe(1)
    clock.stepWall(1)
    await refresh(await read())
    expect(lookups()).toBe(2)
  })

  test.each<[string, number, Partial<Payment>]>([
    ['the next poll is near', 5_000, {}],
    ['the payment is final', 5 * MINUTE_MS, { status: 'success' }],
  ])('causes no question when %s', async (_when, poll_in_ms, changes) => {
    const { payment, refresh, lookups } = await stalePayment(poll_in_ms, () => PENDING, changes)
    expect(await refresh(payment)).toBe(payment)
    expect(lookups()).toBe(0)
  })

  test('does not wait for a provider that hangs, and the result is stored when it comes', async () => {
    const response = Promise.withResolvers<LookupResult>()
    const { payment, read, refresh } = await stalePayment(5 * MINUTE_MS, () => response.promise)
    expect(await refresh(payment)).toBe(payment)
    response.resolve(paid(payment))
    await eventually(read, (stored) => stored?.status === 'success')
  })

  test('gets the payment as it is stored when the provider cannot be asked', async () => {
    const { payment, refresh } = await stalePayment(5 * MINUTE_MS, () => {
      throw new Error('no lookup')
    })
    expect(await refresh(payment)).toMatchObject({ status: 'processing', c_id: payment.c_id })
  })
})
