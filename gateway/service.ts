import { z } from 'zod'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { DirectoryService } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { readConfig } from '#lib/config/config.ts'
import { duration, list, port, text } from '#lib/config/fields.ts'
import { createDirectory } from '#lib/directory/directory.ts'
import { CALLBACK_ALLOW, callbackAddresses } from '#lib/http/callback-allow.ts'
import { checkCallbackUrl } from '#lib/http/callback-url.ts'
import { type Listening, listen } from '#lib/process/listen.ts'
import type { Role } from '#lib/process/role.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { createGateway } from './app.ts'
import { createCredentialOpener } from './auth/credential.ts'
import { createV1Authenticate } from './auth/v1.ts'
import { createAddressList, isAddressRange } from './http/address.ts'
import { createPublicMethods } from './methods/public.ts'

/** The settings of the gateway. */
export const GATEWAY_CONFIG = {
  host: text('MULTIHUB_HOST', '127.0.0.1'),
  port: port('MULTIHUB_HTTP_PORT', 8080),
  /** Whose `X-Forwarded-For` is believed (A7). */
  trusted_proxies: list('MULTIHUB_TRUSTED_PROXIES', {
    of: 'addresses or address ranges',
    item: z.string().refine(isAddressRange),
    fallback: [],
  }),
  callback_allow: CALLBACK_ALLOW,
  /** How far a v1 timestamp may be from now (A3). */
  v1_window_ms: duration('MULTIHUB_V1_WINDOW', { min: 1_000, max: 3_600_000, fallback: 300_000 }),
  /** How long payments waits for a provider (P5); the gateway waits longer. */
  create_timeout_ms: duration('MULTIHUB_CREATE_TIMEOUT', { min: 100, max: 60_000, fallback: 30_000 }),
}

/** What a create takes beside its provider's answer, at the most. */
const CREATE_SLACK_MS = 10_000

/** The public JSON edge. It keeps no state: everything it knows is a cache of what others own. */
export const role: Role = {
  name: 'gateway',
  settings: GATEWAY_CONFIG,
  async start(context) {
    const config = readConfig(GATEWAY_CONFIG, context.environment)
    const { client, keyring, stopping, bus } = context
    const log = createLog('gateway')
    const mayCall = callbackAddresses(config.callback_allow)
    const directory = createDirectory({ client: client(DirectoryService), bus, role: 'gateway' })
    const authenticateV1 = createV1Authenticate({
      findCredential: directory.credentials(createCredentialOpener(keyring, log)),
      trusted_proxies: createAddressList(config.trusted_proxies),
      window_ms: config.v1_window_ms,
    })
    const methods = createPublicMethods({
      payments: client(PaymentService),
      balances: client(BalanceService),
      directory,
      keyring,
      acceptsCallbackUrl: (url, environment) =>
        checkCallbackUrl(url, { environment, allow: mayCall(environment) }).ok,
      create_timeout_ms: config.create_timeout_ms + CREATE_SLACK_MS,
    })
    const app = createGateway({ authenticateV1, methods, log, stopping })
    let listening: Listening | undefined
    await directory.start()
    return {
      services: [],
      async open() {
        await app.ready()
        const { host, port } = config
        listening = await listen(app.server, { host, port, variable: 'MULTIHUB_HTTP_PORT' })
        return { base_url: `http://${listening.authority}` }
      },
      async stop() {
        await listening?.close()
        await app.close()
        await directory.stop()
      },
    }
  },
}
