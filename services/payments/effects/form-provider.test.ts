import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now, useClock } from '#lib/base/time.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/http/client.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { type AdjustableClock, createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { connectAccount } from '../connectors/connect-account.ts'
import { createFindAccount, findAccountOfPayment } from '../connectors/find-account.ts'
import { type FormProvider, startFormProvider } from '../connectors/form/form-provider.fixture.ts'
import { newAccount } from '../connectors/provider-account.ts'
import type { Payment } from '../domain/payment.ts'
import { expirePaymentEffect, lookUpLateEffect } from '../domain/payment-effects.ts'
import { ALL_ENABLED, FINGERPRINT, newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindExpirePayment, bindLookUpLate, bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { bindRecordAnomaly } from './report-to-operator.ts'

const HOUR_MS = 3_600_000

let provider: FormProvider
let http: HttpClient
let fixture: PaymentsFixture
let clock: AdjustableClock
let restoreClock: () => void
beforeEach(async () => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
  provider = await startFormProvider()
  http = createHttpClient({ allow: allowAnyAddress })
  fixture = await openPayments()
})
afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
  await http.close()
  await provider.stop()
  restoreClock()
})

function deps(): ProviderCallDeps {
  const account = newAccount('test', {
    account_id: 'first',
    connector: 'form',
    base_url: provider.url,
    credentials: { token: new Secret(provider.token) },
    settings: { merchant_code: provider.merchant_code },
  })
  return {
    ...findAccountOfPayment(
      createFindAccount([{ ...connectAccount(account, http), fingerprint: FINGERPRINT }]),
    ),
    isMoved: async () => false,
    account_states: ALL_ENABLED,
    providerCallbackUrl: () => 'http://127.0.0.1:1/callbacks',
    create_timeout_ms: 30_000,
    stopping: new AbortController().signal,
    mayAct: () => true,
  }
}

function depositOf(amount: bigint): Payment {
  const payment_id = uuidv7()
  const created_at = now()
  return newDeposit({
    payment_id,
    c_id: payment_id,
    h_id: payment_id,
    amount,
    created_at,
    attempt: { number: 1, account_id: 'first', created_at },
  })
}

// P4
test('payments of a provider without idempotency keys and callbacks are paid once, also when answers are lost', async () => {
  const call_deps = deps()
  const effects = [bindCreateAtProvider(call_deps), bindPollProvider(call_deps), bindRepeatCreate(call_deps)]
  const runner = fixture.runner(effects, { sweep_ms: 20 })
  const digits = [0n, 903n, 904n, 908n, 913n, 915n]
  const payments = Array.from({ length: 60 }, (_, index) => depositOf(10_000n + (digits[index % 6] ?? 0n)))
  await Promise.all(payments.map(async (payment) => runner.runEffects(await runner.insert(payment))))
  runner.start()
  for (const payment of payments)
    await eventually(
      async () => {
        clock.stepWall(10_000)
        return fixture.store.payments.get(keyOfPayment(payment))
      },
      (stored) => stored?.status === 'success',
    )
  expect(provider.transfers()).toBe(payments.length)
  // The ten payments that succeed at once are never looked up. Lookups of the other 50 share requests.
  expect(provider.lookups()).toBeLessThan(50)
})

// P7
describe('a deposit that a provider without callbacks has not decided at its expiry', () => {
  /** A deposit that was declined at its expiry, after one lookup. */
  async function expired() {
    clock.stopWall()
    const call_deps = deps()
    const { payments, anomalies } = fixture.store
    const effects = [
      bindCreateAtProvider(call_deps),
      bindExpirePayment(call_deps),
      bindLookUpLate(call_deps),
      bindRecordAnomaly(anomalies),
    ]
    const runner = fixture.runner(effects, { sweep_ms: 20 })
    const deposit = depositOf(10_905n)
    const at = now()
    const expires_at = new Date(at.getTime() + 60_000)
    const expiry = expirePaymentEffect.newEffect(deposit, {}, { at, due_at: expires_at })
    await runner.runEffects(
      await runner.insert({ ...deposit, expires_at, effects: [...deposit.effects, expiry] }),
    )
    runner.start()
    clock.stepWall(60_001)
    const stored = () => payments.get(keyOfPayment(deposit))
    await eventually(stored, (found) => found?.status === 'declined')
    /** Lets time pass, and waits until the lookup that is due then is stored. */
    const pass = async (hours: number, lookups: number) => {
      clock.stepWall(hours * HOUR_MS + 1)
      const isDue = (effect: Effect): boolean => lookUpLateEffect.matches(effect) && effect.due_at <= now()
      await eventually(stored, (found) => provider.lookups() === lookups && !found?.effects.some(isDue))
    }
    return { stored, pass, listed: () => anomalies.find('by_open', {}, { limit: 10 }) }
  }

  test.each([
    ['an hour', 1, 2],
    ['a day', 24, 3],
  ])(
    'and that is paid before the lookup after %s is an anomaly, and keeps its status',
    async (_what, hours, lookups) => {
      const { stored, pass, listed } = await expired()
      if (hours > 1) await pass(1, 2)
      provider.settleHeld()
      await pass(hours, lookups)
      await eventually(listed, (found = []) => found.length > 0)
      expect(await listed()).toMatchObject([{ kind: 'contradicts_final_status' }])
      expect(await stored()).toMatchObject({ status: 'declined' })
    },
  )

  test('is asked for twice, and then no more', async () => {
    const { stored, pass, listed } = await expired()
    await pass(1, 2)
    await pass(24, 3)
    expect((await stored())?.effects.filter(lookUpLateEffect.matches)).toEqual([])
    expect(await listed()).toEqual([])
  })
})
