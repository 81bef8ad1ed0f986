import type { MessageInitShape } from '@bufbuild/protobuf'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction, HIdFormat, type PayoutLimitsSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type CreateRouteRequestSchema, RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import { RECEIVER_ORIGINS } from '../world/receiver.ts'

/** A credential of a simulated merchant. */
export interface SimulatedCredential {
  readonly application_id: number
  readonly api_version: 'v1' | 'v2'
  /** The secret that the merchant signs with now. */
  secret: string
  /** All secrets that it ever had. */
  readonly secrets: string[]
  /** Whether its secret is no longer valid. */
  readonly is_revoked?: boolean
}

/** A route of a merchant. */
export interface SimulatedRoute {
  readonly service_id: number
  /** The protocol of its provider. The accounts of the sandbox have no circuit breaker, all others have one. */
  readonly connector: string
  readonly currency: string
  readonly method: string
  /** The least amounts that the route had or may have had. The first is the minimum at its creation. */
  readonly minimum_amounts: number[]
  /** The last three digits that amounts get, so that the sandbox does something special; any digits when absent. */
  readonly digits?: readonly number[]
  /** Whether the operator may have closed it for some time. */
  may_be_closed: boolean
  /** Whether its provider accounts may keep failing, so that their circuit breakers are open (E9). */
  may_be_down?: boolean
}

/** The limits of a route for withdrawals, in minor units; 0 means no limit. */
export interface SimulatedLimits {
  readonly maximum: number
  readonly daily: number
  readonly monthly: number
  readonly since_settlement: number
}

/** A route for withdrawals. */
export interface SimulatedWithdrawalRoute extends SimulatedRoute {
  /** The limits that it had or may have had. The first are the limits at its creation. */
  readonly limits: SimulatedLimits[]
  /** The bank account of all recipients. */
  readonly bank: object
}

/** A route to create. */
export interface RouteSpec extends Pick<SimulatedRoute, 'currency' | 'method' | 'digits'> {
  /** The sandbox unless given. */
  readonly connector?: string
  readonly minimum_amount: number
  readonly provider_accounts: readonly string[]
  readonly has_numeric_ids: boolean
  readonly expires_in_seconds: number
}

/** A route for withdrawals to create. */
export interface WithdrawalRouteSpec extends RouteSpec {
  readonly limits: SimulatedLimits
  readonly bank: object
}

/** What a merchant gets, and the origins of its receivers. */
export interface MerchantSpec {
  /** The test environment unless given. */
  readonly environment?: Environment
  readonly routes: readonly RouteSpec[]
  readonly withdrawal_routes?: readonly WithdrawalRouteSpec[]
  readonly origins: readonly string[]
}

/** A callback endpoint. */
export interface SimulatedEndpoint {
  readonly endpoint_id: string
  readonly origin: string
  /** The secrets that the merchant knows. */
  readonly secrets: string[]
  /** Whether it may have had a secret that the merchant does not know, because a response was lost. */
  has_unknown_secret: boolean
  /** Whether the operator may have closed it for some time. */
  may_be_closed: boolean
  readonly max_retries: number
  /** The events for which it gets callbacks. */
  readonly events: readonly string[]
}

/** A merchant of the simulation, as its own systems know it. */
export interface SimulatedMerchant {
  readonly merchant_id: string
  readonly environment: Environment
  readonly credentials: readonly SimulatedCredential[]
  readonly routes: readonly SimulatedRoute[]
  readonly withdrawal_routes: readonly SimulatedWithdrawalRoute[]
  readonly endpoints: readonly SimulatedEndpoint[]
  /** The codes with which all its requests may be refused, because of what the operator did. */
  readonly access_codes: Set<number>
}

/** The method with a low quota, and its calls per minute. */
export const LOW_QUOTA = { method: 'payment.notification', limit: 4 } as const

const METHODS = [
  { method: 'upi', currency: 'INR' },
  { method: 'bank_transfer', currency: 'MXN' },
  { method: 'papara', currency: 'TRY' },
] as const

/** The share of merchants in production. A test route has the sandbox only, whose accounts have no circuit breakers. */
const PRODUCTION = 0.3

/** The connector and the accounts of each currency in production. `form` speaks another protocol. */
const PRODUCTION_PROVIDERS: Readonly<
  Record<string, Required<Pick<RouteSpec, 'connector' | 'provider_accounts'>>>
> = {
  INR: { connector: 'http', provider_accounts: ['acme'] },
  MXN: { connector: 'http', provider_accounts: ['acme', 'acme-backup'] },
  LKR: { connector: 'http', provider_accounts: ['acme-backup', 'acme'] },
  TRY: { connector: 'form', provider_accounts: ['forms'] },
}

/** Ordinary amounts, and those with which the sandbox does something else. */
const SCENARIOS = [
  ...[100, 200, 300, 901, 902, 903, 904, 905, 906, 907, 908, 909, 910, 913, 915],
  // Digits of refunds.
  ...[911, 912, 914],
]

/** The digits that leave an operation open permanently. Withdrawals do not expire, so none may have them. */
const OPEN_DIGITS = 905

const WITHDRAWAL_SCENARIOS = SCENARIOS.filter((digits) => digits !== OPEN_DIGITS)

/** The amount, or 1 less when the sandbox would leave a withdrawal of this amount open permanently. */
export function endingAmount(amount: number): number {
  return amount % 1_000 === OPEN_DIGITS ? amount - 1 : amount
}

/**
 * Draws the environment and the routes of a simulated merchant. Its number decides the origins of its receivers. With
 * `needs_production` it is in production, whatever is drawn.
 */
export function drawMerchant(choices: Choices, number: number, needs_production = false): MerchantSpec {
  const routes = METHODS.map((pair) => ({
    ...pair,
    provider_accounts: choices.pick([['sandbox'], ['sandbox', 'sandbox-down'], ['sandbox-down', 'sandbox']]),
    minimum_amount: choices.pick([0, 100]),
    has_numeric_ids: choices.chance(0.3),
    // The last one is longer than the lease of a create, so that another process continues after a crash.
    expires_in_seconds: choices.pick([5, 10, 15, 60]),
    ...(choices.chance(0.3) ? { digits: SCENARIOS } : {}),
  }))
  const withdrawal_routes = drawWithdrawalRoutes(choices)
  const is_production = choices.chance(PRODUCTION) || needs_production
  return {
    environment: is_production ? Environment.PRODUCTION : Environment.TEST,
    routes: is_production ? routes.map(inProduction) : routes,
    withdrawal_routes: is_production ? withdrawal_routes.map(inProduction) : withdrawal_routes,
    origins: RECEIVER_ORIGINS.slice(2 * number, 2 * number + 2),
  }
}

/** The same route with the provider of its currency in production. */
function inProduction<Spec extends RouteSpec>(route: Spec): Spec {
  const provider = PRODUCTION_PROVIDERS[route.currency]
  if (provider === undefined) throw new TypeError(`no provider has ${route.currency}`)
  return { ...route, ...provider }
}

/** One route with limits, and one whose first account is down when the sandbox is the provider. */
function drawWithdrawalRoutes(choices: Choices): readonly WithdrawalRouteSpec[] {
  const common = (): Omit<RouteSpec, 'method' | 'currency' | 'provider_accounts'> => ({
    minimum_amount: choices.pick([0, 100]),
    has_numeric_ids: choices.chance(0.3),
    expires_in_seconds: 0,
    ...(choices.chance(0.3) ? { digits: WITHDRAWAL_SCENARIOS } : {}),
  })
  return [
    {
      ...common(),
      method: 'imps',
      currency: 'INR',
      provider_accounts: ['sandbox'],
      limits: drawLimits(choices),
      bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' },
    },
    {
      ...common(),
      method: 'bank_transfer',
      currency: 'LKR',
      provider_accounts: ['sandbox-down', 'sandbox'],
      limits: { maximum: 0, daily: 0, monthly: 0, since_settlement: 0 },
      bank: { account: { id: '123456789' } },
    },
  ]
}

/** Draws limits that the withdrawals of a simulation reach. */
export function drawLimits(choices: Choices): SimulatedLimits {
  return {
    maximum: choices.pick([0, 150_000, 300_000]),
    daily: choices.pick([0, 400_000, 1_000_000]),
    monthly: choices.pick([0, 500_000, 1_200_000]),
    since_settlement: choices.pick([0, 300_000, 800_000]),
  }
}

/** Limits in the form of the RPC. */
export function limitsMessage({
  maximum,
  daily,
  monthly,
  since_settlement,
}: SimulatedLimits): MessageInitShape<typeof PayoutLimitsSchema> {
  return {
    maximum: BigInt(maximum),
    daily: BigInt(daily),
    monthly: BigInt(monthly),
    sinceSettlement: BigInt(since_settlement),
  }
}

/** Creates a merchant with credentials of both versions, its routes and its endpoints, as the operator does. */
export async function createMerchant(
  clientOf: ClientOf,
  choices: Choices,
  number: number,
  { environment = Environment.TEST, routes, withdrawal_routes = [], origins }: MerchantSpec,
): Promise<SimulatedMerchant> {
  const { merchant } = await clientOf(MerchantService).createMerchant({
    name: `merchant ${number}`,
    timezone: 'Asia/Kolkata',
    environments: [environment],
    // Another try makes another merchant, with endpoints of its own.
    operationId: uuidv7(),
  })
  const owner = { merchantId: merchant?.merchantId ?? '', environment }
  return {
    merchant_id: owner.merchantId,
    environment,
    credentials: [
      await createCredential(clientOf, owner, 'v1'),
      await createCredential(clientOf, owner, 'v2'),
    ],
    routes: await createDepositRoutes(clientOf, owner, routes),
    withdrawal_routes: await createWithdrawalRoutes(clientOf, owner, withdrawal_routes),
    endpoints: await createEndpoints(clientOf, choices, owner, origins),
    access_codes: new Set(),
  }
}

/** The owner of routes, credentials and endpoints in requests. */
interface OwnerFields {
  readonly merchantId: string
  readonly environment: Environment
}

async function createCredential(
  clientOf: ClientOf,
  owner: OwnerFields,
  api_version: 'v1' | 'v2',
): Promise<SimulatedCredential> {
  const { credential, secret } = await clientOf(CredentialService).createCredential({
    ...owner,
    apiVersion: api_version === 'v1' ? ApiVersion.V1 : ApiVersion.V2,
    scopes: [...SCOPES],
    supportResources: [...SUPPORT_RESOURCES],
    operationId: api_version,
    // The ordinary ones are for people, far below what a simulation sends.
    rateLimits: {
      'refund.request': 100_000,
      'refund.comment.create': 100_000,
      [LOW_QUOTA.method]: LOW_QUOTA.limit,
    },
  })
  return { application_id: Number(credential?.applicationId), api_version, secret, secrets: [secret] }
}

async function createDepositRoutes(
  clientOf: ClientOf,
  owner: OwnerFields,
  specs: readonly RouteSpec[],
): Promise<readonly SimulatedRoute[]> {
  const routes: SimulatedRoute[] = []
  for (const [index, spec] of specs.entries()) {
    const fields = { direction: Direction.IN, operationId: `in-${index}` }
    routes.push(await createRoute(clientOf, owner, spec, fields))
  }
  return routes
}

async function createWithdrawalRoutes(
  clientOf: ClientOf,
  owner: OwnerFields,
  specs: readonly WithdrawalRouteSpec[],
): Promise<readonly SimulatedWithdrawalRoute[]> {
  const routes: SimulatedWithdrawalRoute[] = []
  for (const [index, { limits, bank, ...spec }] of specs.entries()) {
    const payoutLimits = limitsMessage(limits)
    const fields = { direction: Direction.OUT, payoutLimits, operationId: `out-${index}` }
    routes.push({ ...(await createRoute(clientOf, owner, spec, fields)), limits: [limits], bank })
  }
  return routes
}

async function createRoute(
  clientOf: ClientOf,
  owner: OwnerFields,
  {
    provider_accounts,
    has_numeric_ids,
    expires_in_seconds,
    minimum_amount,
    connector = 'sandbox',
    ...shown
  }: RouteSpec,
  fields: Pick<
    MessageInitShape<typeof CreateRouteRequestSchema>,
    'direction' | 'payoutLimits' | 'operationId'
  >,
): Promise<SimulatedRoute> {
  const { method, currency } = shown
  const { route } = await clientOf(RouteService).createRoute({
    ...fields,
    ...owner,
    method,
    currency,
    connector,
    providerAccounts: [...provider_accounts],
    hIdFormat: has_numeric_ids ? HIdFormat.NUMERIC : HIdFormat.UUID,
    expiresInSeconds: expires_in_seconds,
    minimumAmount: BigInt(minimum_amount),
    purpose: 'normal',
  })
  const service_id = Number(route?.serviceId)
  return { service_id, connector, ...shown, minimum_amounts: [minimum_amount], may_be_closed: false }
}

async function createEndpoints(
  clientOf: ClientOf,
  choices: Choices,
  owner: OwnerFields,
  origins: readonly string[],
): Promise<readonly SimulatedEndpoint[]> {
  const endpoints: SimulatedEndpoint[] = []
  const count = choices.integer(0, origins.length)
  for (let index = 0; index < count; index += 1) {
    const origin = origins[index] ?? ''
    const max_retries = choices.integer(2, 5)
    // All, or all but the first, which a new payment has.
    const payment_events = choices.chance(0.5) ? PAYMENT_EVENTS : PAYMENT_EVENTS.slice(1)
    const events = [...payment_events, ...(choices.chance(0.5) ? SUPPORT_EVENTS : [])]
    const { endpoint, secret } = await clientOf(EndpointService).createEndpoint({
      ...owner,
      url: `${origin}/callbacks`,
      operationId: String(index),
      timeoutSeconds: choices.integer(5, 10),
      maxRetries: max_retries,
      retryDelaySeconds: 1,
      events: [...events],
    })
    endpoints.push({
      endpoint_id: endpoint?.endpointId ?? '',
      origin,
      secrets: [secret],
      has_unknown_secret: false,
      may_be_closed: false,
      max_retries,
      events,
    })
  }
  return endpoints
}
