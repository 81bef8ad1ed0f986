import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { allowAnyAddress } from '#lib/platform/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/platform/http/client.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { now, useClock } from '#lib/platform/time.ts'
import { type AdjustableClock, createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { connectAccount, createFindAccount } from '../connectors/connect-account.ts'
import { type FormProvider, startFormProvider } from '../connectors/form/form-provider.fixture.ts'
import { newAccount } from '../connectors/provider-account.ts'
import type { Payment } from '../domain/payment.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindCreateAtProvider } from './create-at-provider.ts'
import { bindPollProvider } from './poll-provider.ts'
import { findAccountOfPayment, type ProviderCallDeps } from './provider-call.ts'
import { bindRepeatCreate } from './repeat-create.ts'

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
    ...findAccountOfPayment(createFindAccount([connectAccount(account, http)])),
    providerCallbackUrl: () => 'http://127.0.0.1:1/callbacks',
    create_timeout_ms: 30_000,
    stopping: new AbortController().signal,
  }
}

function depositOf(amount: bigint): Payment {
  const payment_id = uuidv7()
  const created_at = now()
  return newDeposit({
    payment_id,
    c_id: payment_id,
    h_id: payment_id,
    ids: [payment_id],
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
