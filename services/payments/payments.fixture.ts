import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEffectRunner, type EffectHandler, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Connector, ProviderOrder, ProviderOutcome } from './connectors/connector.ts'
import type { Payment } from './domain/payment.ts'
import type { ConnectedAccount, ProviderParts } from './effects/provider.ts'
import { keyOfPayment, openPaymentsStore, type PaymentsStore } from './store/payments-store.ts'

/** The payments' collections over an embedded store of their own, for tests. */
export interface PaymentsFixture extends AsyncDisposable {
  readonly store: PaymentsStore
  /** A runner of these handlers of effect; those that it does not know stay as they are. */
  runner(handlers?: Readonly<Record<string, EffectHandler<Payment>>>): EffectRunner<Payment>
}

/** Opens them in a new directory, which is deleted afterwards. */
export async function openPayments(): Promise<PaymentsFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-payments-'))
  const opened = await openStore({ database: 'payments', directory })
  const store = await openPaymentsStore(opened)
  const runners: EffectRunner<Payment>[] = []
  return {
    store,
    runner(handlers = {}) {
      const runner = createEffectRunner({ collection: store.payments, keyOf: keyOfPayment, handlers })
      runners.push(runner)
      return runner
    },
    async [Symbol.asyncDispose]() {
      for (const runner of runners) await runner.stop()
      await opened.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** What a scripted provider was asked. */
export interface Asked {
  readonly account_id: string
  readonly idempotency_key: string
  readonly timeout_ms: number
  readonly repeated: boolean
}

/** Provider accounts that answer what a test says, for what no real provider can be made to do. */
export function scriptedProvider(
  answer: (account_id: string, order: ProviderOrder) => Promise<ProviderOutcome> | ProviderOutcome,
  more: Partial<Connector> = {},
): { readonly asked: readonly Asked[]; parts(changes?: Partial<ProviderParts>): ProviderParts } {
  const asked: Asked[] = []
  const connector: Connector = {
    create_is_idempotent: true,
    async create({ account_id }, order, timeout_ms) {
      const { idempotency_key, repeated = false } = order
      asked.push({ account_id, idempotency_key, timeout_ms, repeated })
      return answer(account_id, order)
    },
    lookUp: async () => ({ kind: 'not_found' }),
    verifyCallback: () => undefined,
    ...more,
  }
  const connected = ({ attempt: { account_id }, environment }: Payment): ConnectedAccount => {
    const key = new Secret('a key that nobody asks for')
    const account = {
      account_id,
      connector: 'http',
      environment,
      base_url: 'http://127.0.0.1:1',
      key,
    } as const
    return { account, connector, poll: { first_ms: 60_000, every_ms: 300_000 } }
  }
  return {
    asked,
    parts: (changes = {}) => ({
      connected,
      callbackUrl: () => 'http://127.0.0.1:1/callbacks',
      create_timeout_ms: 30_000,
      stopping: new AbortController().signal,
      ...changes,
    }),
  }
}
