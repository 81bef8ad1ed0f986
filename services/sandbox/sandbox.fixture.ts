import { createMemoryBus } from '#lib/platform/bus/memory.ts'
import { createKeyring } from '#lib/platform/crypto/keyring.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import type { HttpClient } from '#lib/platform/http/client.ts'
import type { RoleContext } from '#lib/platform/process/role.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { connectAccount } from '../payments/connectors/connect-account.ts'
import type { Connector } from '../payments/connectors/connector.ts'
import { newAccount } from '../payments/connectors/provider-account.ts'
import { role } from './service.ts'

/** The shared key with which the test sandbox and payments sign their requests. */
export const SANDBOX_KEY = 'sandbox-key-of-the-tests-0123456789abcdef'

/** A sandbox in this process. */
export interface TestSandbox {
  readonly url: string
  stop(): Promise<void>
}

/** Starts the sandbox with its store under `directory`. `variables` adds or replaces settings. */
export async function startSandbox(
  directory: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<TestSandbox> {
  const store = await openStore({ database: 'sandbox', directory, timeout_ms: HANG_LIMIT_MS })
  const context: RoleContext = {
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
    keyring: createKeyring(new Secret(`test:${'0'.repeat(64)}`)),
    clock_guard: trustedClock,
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
