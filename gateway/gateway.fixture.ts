import { createHash } from 'node:crypto'
import type { DescService, MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  ApiVersion,
  type CredentialSchema,
  CredentialStatus,
} from '#gen/multihub/merchants/v1/credential_pb.ts'
import { DirectoryService } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { Direction, type RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { readConfig } from '#lib/config/config.ts'
import { createKeyring, type Keyring } from '#lib/crypto/seal.ts'
import { Secret } from '#lib/crypto/secret.ts'
import { createDirectory } from '#lib/directory/directory.ts'
import type { Environment as EnvironmentName } from '#lib/environment.ts'
import { type ClientOf, createRpc } from '#lib/rpc/rpc.ts'
import type { RpcService } from '#lib/rpc/service.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { createLog, type Log } from '#lib/telemetry/log.ts'
import { clock } from '#lib/time.ts'
import { createGateway, V1_PATH } from './app.ts'
import { createCredentialOpener } from './auth/credential.ts'
import { createV1Authenticate } from './auth/v1.ts'
import { createAddressList } from './http/address.ts'
import { createPublicMethods } from './methods/public.ts'

/** The number of the fixture's credential. */
export const APPLICATION_ID = '1001'

/** Its secret. */
export const SECRET = '5e'.repeat(32)

/** Another one, which verifies until `old_secret_expires_ms`. */
export const OLD_SECRET = '01d0'.repeat(16)

/** What a test wants different from an active v1 test credential of a merchant with one INR route. */
export interface FixtureOptions {
  readonly credential?: MessageInitShape<typeof CredentialSchema>
  readonly merchant_environments?: readonly Environment[]
  readonly routes?: readonly MessageInitShape<typeof RouteSchema>[]
  readonly old_secret_expires_ms?: number
  /** Seals the secrets for another owner, so that they cannot be opened. */
  readonly secrets_broken?: boolean
  readonly trusted_proxies?: readonly string[]
  readonly payments?: Partial<ServiceImpl<typeof PaymentService>>
  readonly balances?: Partial<ServiceImpl<typeof BalanceService>>
  readonly directory?: Partial<ServiceImpl<typeof DirectoryService>>
  readonly acceptsCallbackUrl?: (url: string, environment: EnvironmentName) => boolean
  readonly stopping?: AbortSignal
  readonly log?: Log
}

/** Seals and opens the secrets of the fixture. */
export const keyring: Keyring = createKeyring(new Secret(`k1:${'ab'.repeat(32)}`))

/** Clients, in memory, of the small services that a test gives. */
export async function createClients(options: FixtureOptions): Promise<ClientOf> {
  const rpc = await createRpc(readConfig(RPC_SETTINGS, {}))
  rpc.add([
    serviceOf(DirectoryService, { ...directoryOf(options), ...options.directory }),
    serviceOf(PaymentService, options.payments ?? {}),
    serviceOf(BalanceService, options.balances ?? {}),
  ])
  return rpc.clientsOf('gateway')
}

/** Builds the real gateway over in-memory RPC. */
export async function createTestGateway(options: FixtureOptions = {}): Promise<FastifyInstance> {
  const clientOf = await createClients(options)
  const log = options.log ?? createLog('gateway')
  const directory = createDirectory({
    client: clientOf(DirectoryService),
    bus: createMemoryBus(),
    role: 'gateway',
  })
  const authenticateV1 = createV1Authenticate({
    findCredential: directory.credentials(createCredentialOpener(keyring, log)),
    trusted_proxies: createAddressList(options.trusted_proxies ?? []),
    window_ms: 300_000,
  })
  const methods = createPublicMethods({
    payments: clientOf(PaymentService),
    balances: clientOf(BalanceService),
    directory,
    keyring,
    create_timeout_ms: 40_000,
    acceptsCallbackUrl: options.acceptsCallbackUrl ?? (() => true),
  })
  const { stopping = new AbortController().signal } = options
  return createGateway({ authenticateV1, methods, log, stopping })
}

/** A service of which a test gives some methods; the others fail. */
function serviceOf<S extends DescService>(descriptor: S, given: Partial<ServiceImpl<S>>): RpcService {
  const missing = (): never => {
    throw new Error('a test called an RPC that it did not expect')
  }
  const names = descriptor.methods.map(({ localName }) => localName)
  return {
    descriptor,
    permissions: Object.fromEntries(names.map((name) => [name, ['gateway' as const]])),
    implementation: { ...Object.fromEntries(names.map((name) => [name, missing])), ...given },
  }
}

function directoryOf(options: FixtureOptions): Partial<ServiceImpl<typeof DirectoryService>> {
  const bound_to = `credential:${options.secrets_broken ? 'another' : APPLICATION_ID}`
  const sealed = (secret: string) => keyring.seal(new Secret(secret), bound_to)
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

/** An answer of the gateway as a test looks at it. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
  readonly text: string
  readonly body: Envelope
}

/** The envelope as tests read it. */
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

/** What a test sends; everything is the ordinary unless it says so. A header that is undefined is not sent. */
export interface Sent {
  readonly body?: unknown
  readonly raw?: Buffer | string
  readonly secret?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly path?: string
  readonly verb?: 'POST' | 'GET' | 'PUT' | 'DELETE' | 'OPTIONS' | 'PATCH' | 'HEAD'
  readonly from?: string
}

/** Signs a request in the plain way of the spec and gives it to the gateway without a socket. */
export async function send(app: FastifyInstance, sent: Sent = {}): Promise<Answered> {
  const payload = Buffer.from(sent.raw ?? JSON.stringify(sent.body ?? { method: 'gateway.ping', params: {} }))
  const headers = { ...signedHeaders(payload, sent.secret), ...sent.headers }
  const answer = await app.inject({
    method: sent.verb ?? 'POST',
    url: sent.path ?? V1_PATH,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
    payload,
    remoteAddress: sent.from ?? '192.0.2.10',
  })
  const { statusCode: status, headers: answered, payload: text } = answer
  return { status, headers: answered, text, body: text === '' ? EMPTY : JSON.parse(text) }
}

const EMPTY: Envelope = { success: false, result: null, request_id: '', processing_time: 0 }

/** The headers of a v1 request over these bytes. */
export function signedHeaders(payload: Buffer | string, secret = SECRET): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-data-application-id': APPLICATION_ID,
    'x-data-hash': createHash('sha512').update(payload).update(secret).digest('hex'),
  }
}

/** The code of an answer and where it says the fault is, for tables of cases. */
export function faultOf({ body }: Answered): readonly [number | undefined, unknown] {
  return [body.error?.code, body.error?.details?.['description']]
}
