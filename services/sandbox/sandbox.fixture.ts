import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/http/client.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import type { RoleContext } from '#lib/role/role.ts'
import { openStore } from '#lib/store/open.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { connectAccount } from '../payments/connectors/connect-account.ts'
import type { Connector, ProviderOrder } from '../payments/connectors/connector.ts'
import { newAccount } from '../payments/connectors/provider-account.ts'
import { type CallbackReceiver, startReceiver } from './callback-receiver.fixture.ts'
import { role } from './service.ts'

/** The shared key with which the test sandbox and payments sign their requests. */
export const SANDBOX_KEY = 'sandbox-key-of-the-tests-0123456789abcdef'

/** A sandbox in this process. */
export interface TestSandbox {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts the sandbox with its store under `directory`. `variables` adds or replaces settings; `clock_guard` replaces trust
 * in the clock.
 */
export async function startSandbox(
  directory: string,
  variables: Readonly<Record<string, string>> = {},
  clock_guard: ClockGuard = trustedClock,
): Promise<TestSandbox> {
  const store = await openStore({ database: 'sandbox', directory, timeout_ms: HANG_LIMIT_MS })
  const context: RoleContext<'sandbox'> = {
    variables: {
      MULTIHUB_SANDBOX_PORT: '0',
      MULTIHUB_SANDBOX_KEY: SANDBOX_KEY,
      MULTIHUB_SANDBOX_DELAY: '20ms',
      ...variables,
    },
    clientOf() {
      throw new Error('the sandbox calls no other role')
    },
    bus: createMemoryBus(),
    openStore: async () => store,
    keys: {},
    clock_guard,
    draining: new AbortController().signal,
    stopping: new AbortController().signal,
  }
  const running = await role.start(context)
  const { sandbox_url: url = '' } = (await running.open?.()) ?? {}
  return {
    url,
    async stop() {
      await running.stop()
      await store.close()
    },
  }
}

/** What a test needs to use a sandbox as payments does. Disposal deletes the directory. */
export interface SandboxFixture extends AsyncDisposable {
  /** For the store of the sandbox. */
  readonly directory: string
  readonly receiver: CallbackReceiver
  connect(sandbox: Pick<TestSandbox, 'url'>): Connector
  /** Makes the order of a deposit. `digits` are the last digits of its amount, which choose the outcome. */
  orderOf(number: number, digits?: number): ProviderOrder
}

/** Makes a directory and starts a receiver of callbacks. */
export async function openSandboxFixture(): Promise<SandboxFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-sandbox-'))
  const http = createHttpClient({ allow: allowAnyAddress })
  const receiver = await startReceiver(connectSandbox({ url: 'http://unused' }, http))
  return {
    directory,
    receiver,
    connect: (sandbox) => connectSandbox(sandbox, http),
    orderOf: (number, digits = 0) => ({
      kind: 'deposit',
      idempotency_key: `deposit-${number}`,
      amount: { minor: 1_000_000n + BigInt(digits), currency: 'INR' },
      method: 'upi',
      callback_url: receiver.url,
      expires_at: new Date(clock.now_ms() + 3_600_000),
      payer: {},
    }),
    async [Symbol.asyncDispose]() {
      await receiver.close()
      await http.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** The connector with which payments calls the sandbox. */
export function connectSandbox({ url }: Pick<TestSandbox, 'url'>, http: HttpClient): Connector {
  const account = newAccount('test', {
    account_id: 'sandbox',
    connector: 'sandbox',
    base_url: url,
    credentials: { key: new Secret(SANDBOX_KEY) },
    settings: {},
  })
  return connectAccount(account, http).connector
}
