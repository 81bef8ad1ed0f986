import { describedSetting, optionalSetting, readConfig } from '#lib/base/config/config.ts'
import {
  durationSetting,
  HOST_SETTING,
  portSetting,
  SANDBOX_KEY_SETTING,
  urlSetting,
} from '#lib/base/config/settings.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import type { Listening } from '#lib/http/network.ts'
import { createSystemResolver } from '#lib/http/resolve-host.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { startRuns } from '#lib/patterns/effects/runs.ts'
import { TEST_RETENTION_SETTING } from '#lib/patterns/test-retention.ts'
import type { Role } from '#lib/role/role.ts'
import type { Operation } from './domain/operation.ts'
import { bindSendCallback } from './effects/send-callback.ts'
import { createRequestHandler } from './http/handle-request.ts'
import { serveProvider } from './http/server.ts'
import { openSandboxStore, operationKey } from './store/operations.ts'
import { startOperationRetention } from './use-cases/end-operations.ts'

/** The settings of the sandbox. */
export const SANDBOX_CONFIG = {
  host: HOST_SETTING,
  port: describedSetting('The port of the sandbox.', portSetting('MULTIHUB_SANDBOX_PORT', 9092)),
  key: SANDBOX_KEY_SETTING,
  public_url: describedSetting(
    'For the sandbox itself: its base URL for callers, if it differs from the listening address.',
    optionalSetting(urlSetting('MULTIHUB_SANDBOX_URL')),
  ),
  delay_ms: describedSetting(
    'How long an ordinary operation stays pending.',
    durationSetting('MULTIHUB_SANDBOX_DELAY', { min: 0, max: 3_600_000, fallback: 1000 }),
  ),
  silence_ms: describedSetting(
    'How long an amount that ends in 903 keeps a connection open without a response.',
    durationSetting('MULTIHUB_SANDBOX_SILENCE', { min: 1, max: 60_000, fallback: 60_000 }),
  ),
  retention_ms: TEST_RETENTION_SETTING,
}

/** How late a callback may start. Callbacks belong to about one second after creation, so this is well below it. */
const SWEEP_MS = 100

/** The provider of the test environment: a real HTTP service that shares only the provider protocol with the rest. */
export const role: Role<'sandbox'> = {
  name: 'sandbox',
  settings: SANDBOX_CONFIG,
  async start(context) {
    const { host, port, key, public_url, delay_ms, silence_ms, retention_ms } = readConfig(
      SANDBOX_CONFIG,
      context.variables,
    )
    const { clock_guard } = context
    const store = await openSandboxStore(await context.openStore())
    const { operations } = store
    const runs = await startRuns(store.runs, clock_guard)
    const http = createHttpClient({ allow: allowAnyAddress, resolve: createSystemResolver() })
    const stopping = new AbortController()
    const runner = createEffectRunner<Operation>({
      name: 'operations',
      collection: operations,
      clock_guard,
      runs,
      keyOf: operationKey,
      effects: [bindSendCallback({ http, key, stopping: stopping.signal })],
      sweep_ms: SWEEP_MS,
    })
    let base_url = public_url ?? ''
    const handle = createRequestHandler({
      operations,
      runner,
      key,
      clock_guard,
      delay_ms,
      baseUrl: () => base_url,
    })
    let server: Listening | undefined
    const retention_walk = startOperationRetention(operations, { clock_guard, retention_ms })
    return {
      services: [],
      async open() {
        const { draining } = context
        const address = { host, port, variable: 'MULTIHUB_SANDBOX_PORT', draining }
        server = await serveProvider(handle, { ...address, silence_ms })
        base_url = public_url ?? `http://${server.host_and_port}`
        runner.start()
        return { sandbox_url: base_url }
      },
      async stop() {
        await retention_walk.stop()
        await server?.close()
        stopping.abort()
        await runner.stop()
        await runs.stop()
        await http.close()
      },
    }
  },
}
