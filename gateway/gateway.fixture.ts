import type { DescService, MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  ApiVersion,
  type CredentialSchema,
  CredentialStatus,
} from '#gen/multihub/merchants/v1/credential_pb.ts'
import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { Direction, type RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import type { Environment as EnvironmentName } from '#lib/contract/environment.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import { parseIpRanges } from '#lib/http/address-policy.ts'
import type { CallbackHostCheck } from '#lib/http/callback-host.ts'
import type { StreamHandler } from '#lib/http/internal-link.ts'
import { createProxyWatch } from '#lib/http/trusted-proxies.ts'
import { createRegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { type ClientOf, createRpc } from '#lib/rpc/rpc.ts'
import { by, type RpcService } from '#lib/rpc/service.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import type { Store } from '#lib/store/store.ts'
import { createLog, type Log } from '#lib/telemetry/log.ts'
import type { DemoCredential } from '../test/support/sign-request.ts'
import {
  freshPair,
  PATHS,
  type ReplayPair,
  signResend,
  signV1,
  signV2,
} from '../test/support/sign-request.ts'
import { createGateway } from './app.ts'
import { createCredentialUnsealer } from './auth/credential.ts'
import { createNonceStore, type NonceStore } from './auth/nonce-store.ts'
import { nonceTtlMs } from './auth/replay.ts'
import { V1_WINDOW_MS } from './auth/signature-schemes.ts'
import { createExchangeRecorder, type ExchangeRecorder } from './exchanges/exchange-recorder.ts'
import type { PublicFile } from './http/public-file.ts'
import { createFloodLimiter } from './limits/flood-limiter.ts'
import { createLimits, type Limits } from './limits/limits.ts'
import { createMerchantRequests, type MerchantRequests } from './limits/merchant-requests.ts'
import type { MethodDeps } from './methods/method.ts'
import { bindMethods } from './methods/public-methods.ts'
import { webhookResend } from './methods/webhook-resend.ts'
import { V1_PATH } from './paths.ts'
import { openGatewayStore } from './store.ts'

/** The application id of the fixture's credential. */
export const APPLICATION_ID = '1001'

/** The current secret of the fixture's credential. */
export const SECRET = '5e'.repeat(32)

/** The old secret of a rotation; it verifies until `old_secret_expires_ms`. */
export const OLD_SECRET = '01d0'.repeat(16)

/** Changes to the default: an active v1 test credential of a merchant with one INR route. */
export interface FixtureOptions {
  readonly credential?: MessageInitShape<typeof CredentialSchema>
  readonly merchant_environments?: readonly Environment[]
  readonly routes?: readonly MessageInitShape<typeof RouteSchema>[]
  readonly old_secret_expires_ms?: number
  /** Seals the secrets for another credential, so that they cannot be decrypted. */
  readonly secrets_broken?: boolean
  readonly trusted_proxies?: readonly string[]
  readonly payments?: Partial<ServiceImpl<typeof PaymentService>>
  readonly balances?: Partial<ServiceImpl<typeof BalanceService>>
  readonly attachments?: Partial<ServiceImpl<typeof AttachmentService>>
  readonly registryService?: Partial<ServiceImpl<typeof RegistryService>>
  readonly acceptsCallbackUrl?: (url: string, environment: EnvironmentName) => boolean
  readonly acceptsCallbackHost?: CallbackHostCheck
  /** The store of nonces, quotas and exchanges. Without it nonces are kept in memory, and nothing is limited or recorded. */
  readonly store?: Store
  /** Whether exchanges are recorded in the store; `true` unless given. */
  readonly records_exchanges?: boolean
  readonly failures_per_minute?: number
  readonly merchant_requests?: MerchantRequests
  /** The document at /openapi.json. */
  readonly files?: readonly PublicFile[]
  /** Takes the place of the attachments service for transfers. */
  readonly sendToAttachments?: StreamHandler
  readonly stopping?: AbortSignal
  readonly log?: Log
}

const NO_ATTACHMENTS: StreamHandler = async () => {
  throw new Unavailable('the test has no attachments service')
}

const NO_RECORDER = { record: () => {} }

/** The keys that seal and open the secrets of the fixture. */
export const keys = testKeys()

/** Makes in-memory clients of the service implementations that a test provides. */
export async function createClients(options: FixtureOptions): Promise<ClientOf> {
  const rpc = await createRpc(readConfig(RPC_SETTINGS, {}))
  rpc.add([
    serviceOf(RegistryService, { ...registryServiceOf(options), ...options.registryService }),
    serviceOf(PaymentService, options.payments ?? {}),
    serviceOf(BalanceService, options.balances ?? {}),
    serviceOf(AttachmentService, options.attachments ?? {}),
  ])
  return rpc.clientsOf('gateway')
}

/** Makes the real gateway over in-memory RPC. */
export async function createTestGateway(options: FixtureOptions = {}): Promise<FastifyInstance> {
  const clientOf = await createClients(options)
  const log = options.log ?? createLog('gateway')
  const registry_cache = createRegistryCache({
    client: clientOf(RegistryService),
    bus: createMemoryBus(),
    role: 'gateway',
  })
  const deps: MethodDeps = {
    clientOf,
    registry_cache,
    keys,
    publicUrl: () => 'http://127.0.0.1:8080',
    create_timeout_ms: 40_000,
    acceptsCallbackUrl: options.acceptsCallbackUrl ?? (() => true),
    acceptsCallbackHost: options.acceptsCallbackHost ?? (async () => true),
  }
  const { failures_per_minute = 1_000, stopping } = options
  const trusted_proxies = parseIpRanges(options.trusted_proxies ?? [])
  return createGateway({
    ...(await openStoreParts(options, log)),
    findCredential: registry_cache.credentials(createCredentialUnsealer(keys.credential, log)),
    trusted_proxies,
    proxy_watch: createProxyWatch(trusted_proxies),
    now_ms: () => clock.now_ms(),
    v1_window_ms: V1_WINDOW_MS,
    methods: bindMethods(deps),
    resend: webhookResend.bind(deps),
    files: options.files ?? [],
    flood: createFloodLimiter({ failures_per_minute }),
    merchant_requests: options.merchant_requests ?? createMerchantRequests(),
    isServing: () => !stopping?.aborted,
    log,
    keys,
    sendToAttachments: options.sendToAttachments ?? NO_ATTACHMENTS,
  })
}

/** Opens nonces, limits and the recorder of exchanges on a store, or in memory without one. */
async function openStoreParts(
  { store, records_exchanges = true }: FixtureOptions,
  log: Log,
): Promise<{ nonces: NonceStore; limits: Limits; exchange_recorder: Pick<ExchangeRecorder, 'record'> }> {
  if (store !== undefined) {
    const { nonces, counters, ...collections } = await openGatewayStore(store)
    return {
      nonces: createNonceStore(nonces, { ttl_ms: nonceTtlMs(V1_WINDOW_MS) }),
      limits: createLimits(counters),
      exchange_recorder: records_exchanges ? createExchangeRecorder(collections, log) : NO_RECORDER,
    }
  }
  const used = new Set<string>()
  return {
    nonces: {
      async consume(application_id, nonce) {
        const key = `${application_id} ${nonce}`
        return used.size < used.add(key).size ? 'consumed' : 'reused'
      },
    },
    limits: { useDailyLimit: async () => {}, useMethodQuota: async () => {}, close: async () => {} },
    exchange_recorder: NO_RECORDER,
  }
}

/** Makes a service from the methods that a test provides; the other methods fail. */
function serviceOf<S extends DescService>(descriptor: S, methods: Partial<ServiceImpl<S>>): RpcService {
  const missing = (): never => {
    throw new Error('the test does not implement this RPC')
  }
  const implementation: Readonly<Record<string, unknown>> = methods
  const handlers = descriptor.methods.map(({ localName }) => {
    return [localName, by(['gateway'], implementation[localName] ?? missing)] as const
  })
  return { descriptor, handlers: Object.fromEntries(handlers) }
}

function registryServiceOf(options: FixtureOptions): Partial<ServiceImpl<typeof RegistryService>> {
  const owner = ownerOfCredentialSecret(options.secrets_broken ? 'another' : APPLICATION_ID)
  const sealed = (secret: string) => keys.credential.seal(new Secret(secret), owner)
  const old = timestampFromMs(options.old_secret_expires_ms ?? clock.now_ms() + 60_000)
  return {
    getCredential: ({ applicationId }) => {
      if (applicationId !== APPLICATION_ID) return {}
      return {
        credential: {
          applicationId,
          merchantId: '7001',
          apiVersion: ApiVersion.V1,
          environment: Environment.TEST,
          status: CredentialStatus.ACTIVE,
          ...options.credential,
        },
        secrets: [{ sealed: sealed(SECRET) }, { sealed: sealed(OLD_SECRET), expireTime: old }],
        merchantEnvironments: [...(options.merchant_environments ?? [Environment.TEST])],
      }
    },
    listMerchantRoutes: () => ({
      routes: [
        ...(options.routes ?? [
          { serviceId: '501', currency: 'INR', direction: Direction.IN, enabled: true },
        ]),
      ],
    }),
  }
}

/** A response of the gateway. */
export interface TestResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
  readonly text: string
  readonly body: Envelope
}

/** The envelope of a response. */
export interface Envelope {
  readonly success: boolean
  readonly result: unknown
  readonly error?: {
    code: number
    message: string
    details: Record<string, unknown> | null
    context: unknown
  }
  readonly request_id: string
  readonly processing_time: number
}

/** A request of a test; every field has a default. A header that is `undefined` is not sent. */
export interface TestRequest {
  readonly body?: unknown
  readonly raw?: Buffer | string
  readonly secret?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly path?: string
  readonly verb?: 'POST' | 'GET' | 'PUT' | 'DELETE' | 'OPTIONS' | 'PATCH' | 'HEAD'
  readonly from?: string
  /** Signs the request; by default with v1 and without a replay pair. */
  readonly sign?: SignRequest
}

/** Makes the authentication headers of a request. */
export type SignRequest = (payload: Buffer, secret: string) => Readonly<Record<string, string>>

/** Signs a request and passes it to the gateway without a socket. */
export async function send(app: FastifyInstance, sent: TestRequest = {}): Promise<TestResponse> {
  const { sign = signedHeaders, secret = SECRET } = sent
  const payload = Buffer.from(sent.raw ?? JSON.stringify(sent.body ?? { method: 'gateway.ping', params: {} }))
  const headers = { ...sign(payload, secret), ...sent.headers }
  const response = await app.inject({
    method: sent.verb ?? 'POST',
    url: sent.path ?? V1_PATH,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
    payload,
    remoteAddress: sent.from ?? '192.0.2.10',
  })
  const { statusCode: status, headers: response_headers, payload: text } = response
  return { status, headers: response_headers, text, body: text === '' ? EMPTY : JSON.parse(text) }
}

const EMPTY: Envelope = { success: false, result: null, request_id: '', processing_time: 0 }

/** Makes the headers of a v1 request, with a replay pair if one is given. */
export function signedHeaders(
  payload: Buffer | string,
  secret = SECRET,
  pair?: ReplayPair,
): Record<string, string> {
  return lowerCaseNames(signV1(credentialOf(secret), payload, pair))
}

/** Path and signature of a v2 request; with a fresh replay pair by default. */
export function v2Request(pair?: ReplayPair): { readonly path: string; readonly sign: SignRequest } {
  const sign: SignRequest = (payload, secret) =>
    lowerCaseNames(signV2(credentialOf(secret), payload, pair ?? freshPair()))
  return { path: PATHS.v2, sign }
}

/** Path and signature of a resend request, with a replay pair if one is given. */
export function resendRequest(
  payment_id: string,
  pair?: ReplayPair,
): { readonly path: string; readonly sign: SignRequest } {
  const path = PATHS.resend(payment_id)
  const sign: SignRequest = (payload, secret) =>
    lowerCaseNames(signResend(credentialOf(secret), path, payload.toString(), pair))
  return { path, sign }
}

const credentialOf = (secret: string): DemoCredential => ({
  application_id: Number(APPLICATION_ID),
  api_version: 'v1',
  secret,
})

/** Converts header names to lower case, so that tests can replace headers by name. */
function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return { 'content-type': 'application/json', ...Object.fromEntries(named) }
}

/** The error code of a response and the path of the wrong field, for tables of cases. */
export function codeAndPath({ body }: TestResponse): readonly [number | undefined, unknown] {
  return [body.error?.code, body.error?.details?.['description']]
}
