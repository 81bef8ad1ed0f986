import { described, optional, readConfig } from '#lib/platform/config/config.ts'
import { duration, port, secret, text, url } from '#lib/platform/config/fields.ts'
import { allowAnyAddress } from '#lib/platform/http/address-policy.ts'
import { createHttpClient } from '#lib/platform/http/client.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { createCallbackSender } from './callbacks/callbacks.ts'
import { postCallback } from './callbacks/post.ts'
import { serveProvider } from './http/server.ts'
import { createProvider } from './provider.ts'
import { openTransactions } from './store/sandbox-store.ts'

/** The settings of the sandbox. */
export const SANDBOX_CONFIG = {
  host: text('MULTIHUB_HOST', '127.0.0.1'),
  port: described('Where the sandbox serves.', port('MULTIHUB_SANDBOX_PORT', 9092)),
  /** Shared with the payments service: whoever holds it is the caller. */
  key: secret('MULTIHUB_SANDBOX_KEY'),
  /** Where callers reach the sandbox, when that is not the address that it listens on. */
  public_url: optional(url('MULTIHUB_SANDBOX_URL')),
  delay_ms: described(
    'How long an ordinary operation stays pending.',
    duration('MULTIHUB_SANDBOX_DELAY', { min: 0, max: 3_600_000, fallback: 1000 }),
  ),
  hold_ms: described(
    'How long digits 903 leave their caller without an answer.',
    duration('MULTIHUB_SANDBOX_HOLD', { min: 1, max: 60_000, fallback: 60_000 }),
  ),
}

/** The provider of the test environment: a real HTTP service, apart from everything but the provider protocol. */
export const role: Role = {
  name: 'sandbox',
  settings: SANDBOX_CONFIG,
  async start(context) {
    const { host, port, key, public_url, delay_ms, hold_ms } = readConfig(SANDBOX_CONFIG, context.environment)
    const transactions = await openTransactions(await context.openStore())
    const http = createHttpClient({ allow: allowAnyAddress })
    const callbacks = createCallbackSender(transactions, key, postCallback(http))
    let base_url = public_url ?? ''
    const handle = createProvider({ transactions, callbacks, key, delay_ms, base_url: () => base_url })
    let server: Awaited<ReturnType<typeof serveProvider>> | undefined
    return {
      services: [],
      async open() {
        server = await serveProvider(handle, { host, port, variable: 'MULTIHUB_SANDBOX_PORT', hold_ms })
        base_url = public_url ?? `http://${server.authority}`
        callbacks.start()
        return { sandbox_url: base_url }
      },
      check: () => transactions.ping(),
      async stop() {
        await server?.stop()
        await callbacks.stop()
        await http.close()
      },
    }
  },
}
