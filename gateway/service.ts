import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { type Config, describedSetting, optionalSetting, readConfig } from '#lib/base/config/config.ts'
import {
  ATTACHMENTS_URL_SETTING,
  booleanSetting,
  CREATE_TIMEOUT_SETTING,
  durationSetting,
  HOST_SETTING,
  integerSetting,
  portSetting,
  urlSetting,
} from '#lib/base/config/settings.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { parseIpRanges } from '#lib/http/address-policy.ts'
import {
  CALLBACK_ALLOW_SETTING,
  createCallbackAddressPolicies,
  createCallbackHostCheck,
} from '#lib/http/callback-host.ts'
import { checkCallbackUrl } from '#lib/http/callback-url.ts'
import { createStreamClient } from '#lib/http/internal-link.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import {
  checkProxiesAreDecided,
  createProxyWatch,
  TRUSTED_PROXIES_SETTING,
} from '#lib/http/trusted-proxies.ts'
import { createRegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { Role, RoleContext } from '#lib/role/role.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { createGateway } from './app.ts'
import { createCredentialUnsealer } from './auth/credential.ts'
import { createNonceStore } from './auth/nonce-store.ts'
import { nonceTtlMs } from './auth/replay.ts'
import { V1_WINDOW_MS, V2_WINDOW_MS } from './auth/signature-schemes.ts'
import { createExchangeRecorder } from './exchanges/exchange-recorder.ts'
import { createExchangeReads } from './exchanges/read-exchanges.ts'
import { createFloodLimiter } from './limits/flood-limiter.ts'
import { createLimits } from './limits/limits.ts'
import { createMerchantRequests } from './limits/merchant-requests.ts'
import type { MethodDeps } from './methods/method.ts'
import { bindMethods } from './methods/public-methods.ts'
import { webhookResend } from './methods/webhook-resend.ts'
import { referenceFiles } from './openapi/reference-files.ts'
import { publicBaseUrl } from './public-base-url.ts'
import { createExchangeRpc } from './rpc/exchange-read-service.ts'
import { createExchangeReferenceRpc } from './rpc/exchange-reference-service.ts'
import { createTestRequestRpc } from './rpc/test-request-service.ts'
import { openGatewayStore } from './store.ts'

/** The settings of the gateway. */
export const GATEWAY_CONFIG = {
  host: HOST_SETTING,
  port: describedSetting('The port of the public interface.', portSetting('MULTIHUB_HTTP_PORT', 8080)),
  trusted_proxies: TRUSTED_PROXIES_SETTING,
  callback_allow: CALLBACK_ALLOW_SETTING,
  v1_window_ms: describedSetting(
    'How far the timestamp of a v1 or resend request may differ from the clock.',
    durationSetting('MULTIHUB_V1_WINDOW', { min: 1_000, max: 3_600_000, fallback: V1_WINDOW_MS }),
  ),
  failures_per_minute: describedSetting(
    'How many authentications may fail per minute and network (an IPv4 address or an IPv6 /48) before further ' +
      'failures are answered with 429.',
    integerSetting('MULTIHUB_FLOOD_LIMIT', { min: 1, max: 1_000_000, fallback: 1_000 }),
  ),
  openapi: describedSetting(
    'Serves the API reference at GET /reference, /openapi.json and /openapi-v2.json, without authentication.',
    booleanSetting('MULTIHUB_OPENAPI', false),
  ),
  create_timeout_ms: CREATE_TIMEOUT_SETTING,
  public_url: describedSetting(
    'The URL at which merchants reach the public interface, for links to files. The listening address without one, ' +
      'which is refused where it stands for all addresses, such as 0.0.0.0.',
    optionalSetting(urlSetting('MULTIHUB_PUBLIC_URL')),
  ),
  attachments_url: ATTACHMENTS_URL_SETTING,
}

/** The most time that a create needs in addition to its provider's response. */
const CREATE_OVERHEAD_MS = 10_000

/** What the methods need. `publicUrl` is known once the port is. */
function methodDeps(
  { clientOf, keys }: RoleContext<'gateway'>,
  { callback_allow, create_timeout_ms }: Config<typeof GATEWAY_CONFIG>,
  registry_cache: MethodDeps['registry_cache'],
  publicUrl: () => string,
): MethodDeps {
  const callbackAddressPolicy = createCallbackAddressPolicies(callback_allow)
  return {
    publicUrl,
    clientOf,
    registry_cache,
    keys,
    acceptsCallbackUrl: (url, environment) =>
      checkCallbackUrl(url, { environment, allow: callbackAddressPolicy(environment) }).ok,
    acceptsCallbackHost: createCallbackHostCheck(callbackAddressPolicy),
    create_timeout_ms: create_timeout_ms + CREATE_OVERHEAD_MS,
  }
}

/**
 * The gateway: the public JSON interface. It stores used nonces and quota counters, caches the registry, and calls the
 * other services for each request.
 */
export const role: Role<'gateway'> = {
  name: 'gateway',
  settings: GATEWAY_CONFIG,
  async start(context) {
    const config = readConfig(GATEWAY_CONFIG, context.variables)
    checkProxiesAreDecided(context.variables)
    const trusted_proxies = parseIpRanges(config.trusted_proxies)
    const proxy_watch = createProxyWatch(trusted_proxies)
    const { clientOf, keys, draining, stopping, bus } = context
    const log = createLog('gateway')
    const { nonces, counters, ...exchange_collections } = await openGatewayStore(await context.openStore())
    const exchange_reads = createExchangeReads(exchange_collections)
    const exchange_recorder = createExchangeRecorder(exchange_collections, log)
    const now_ms = context.clock_guard.store_now_ms
    const limits = createLimits(counters, { now_ms })
    const registry_cache = createRegistryCache({ client: clientOf(RegistryService), bus, role: 'gateway' })
    let public_url = publicBaseUrl(config)
    const attachments_client = createStreamClient(config.attachments_url, context.tls)
    const deps = methodDeps(context, config, registry_cache, () => public_url ?? '')
    const findCredential = registry_cache.credentials(createCredentialUnsealer(keys.credential, log))
    const app = createGateway({
      findCredential,
      nonces: createNonceStore(nonces, {
        ttl_ms: nonceTtlMs(Math.max(config.v1_window_ms, V2_WINDOW_MS)),
        now_ms,
      }),
      now_ms,
      trusted_proxies,
      proxy_watch,
      exchange_recorder,
      v1_window_ms: config.v1_window_ms,
      methods: bindMethods(deps),
      resend: webhookResend.bind(deps),
      files: config.openapi ? referenceFiles() : [],
      limits,
      flood: createFloodLimiter(config),
      merchant_requests: createMerchantRequests(),
      isServing: () => registry_cache.hasResponded() && !stopping.aborted,
      log,
      keys,
      sendToAttachments: context.streamsOf?.('attachments') ?? attachments_client.send,
    })
    let listening: Listening | undefined
    await registry_cache.start()
    return {
      services: [
        createExchangeRpc(exchange_reads),
        createExchangeReferenceRpc(exchange_reads),
        createTestRequestRpc({ findCredential, now_ms, app }),
      ],
      // E13: otherwise merchants would find no gateway at all where those that need no nonce could be answered.
      answers_without_store: true,
      limitations: proxy_watch.limitations,
      async open() {
        await app.ready()
        const { host, port } = config
        listening = await listen(app.server, { host, port, variable: 'MULTIHUB_HTTP_PORT', draining })
        const base_url = `http://${listening.host_and_port}`
        public_url ??= base_url
        return { base_url }
      },
      async check() {
        if (!registry_cache.hasResponded())
          throw new Unavailable(
            'the registry was not read yet; check that the merchants service is reachable',
          )
      },
      async stop() {
        await listening?.close()
        await app.close()
        await attachments_client.close()
        await limits.close()
        await exchange_recorder.stop()
        await registry_cache.stop()
      },
    }
  },
}
