import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction, HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { SCOPES } from '#lib/contract/scopes.ts'
import type { ClientOf } from '#lib/platform/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'

/** A credential of a simulated merchant. */
export interface SimulatedCredential {
  readonly application_id: number
  readonly api_version: 'v1' | 'v2'
  readonly secret: string
}

/** A route for deposits. */
export interface SimulatedRoute {
  readonly service_id: number
  readonly currency: string
  readonly method: string
  readonly minimum_amount: number
}

/** A callback endpoint. */
export interface SimulatedEndpoint {
  readonly endpoint_id: string
  readonly origin: string
  readonly secret: string
  readonly max_retries: number
}

/** A merchant of the simulation, as its own systems know it. */
export interface SimulatedMerchant {
  readonly merchant_id: string
  readonly credentials: readonly SimulatedCredential[]
  readonly routes: readonly SimulatedRoute[]
  readonly endpoints: readonly SimulatedEndpoint[]
}

const METHODS = [
  { method: 'upi', currency: 'INR' },
  { method: 'bank_transfer', currency: 'MXN' },
  { method: 'papara', currency: 'TRY' },
] as const

/** The origin of the n-th receiver of the simulation. */
export const receiverOrigin = (number: number): string => `https://receiver-${number}.example.com`

/** The most receivers of a simulation. */
export const RECEIVERS_MAX = 6

/** Creates a merchant with credentials of both versions, several routes and its endpoints, as the operator does. */
export async function createMerchant(
  clientOf: ClientOf,
  choices: Choices,
  number: number,
): Promise<SimulatedMerchant> {
  const { merchant } = await clientOf(MerchantService).createMerchant({
    name: `merchant ${number}`,
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST],
  })
  const merchantId = merchant?.merchantId ?? ''
  return {
    merchant_id: merchantId,
    credentials: [
      await createCredential(clientOf, merchantId, 'v1'),
      await createCredential(clientOf, merchantId, 'v2'),
    ],
    routes: await createRoutes(clientOf, choices, merchantId),
    endpoints: await createEndpoints(clientOf, choices, merchantId, number),
  }
}

async function createCredential(
  clientOf: ClientOf,
  merchantId: string,
  api_version: 'v1' | 'v2',
): Promise<SimulatedCredential> {
  const { credential, secret } = await clientOf(CredentialService).createCredential({
    merchantId,
    apiVersion: api_version === 'v1' ? ApiVersion.V1 : ApiVersion.V2,
    environment: Environment.TEST,
    scopes: [...SCOPES],
  })
  return { application_id: Number(credential?.applicationId), api_version, secret }
}

async function createRoutes(
  clientOf: ClientOf,
  choices: Choices,
  merchantId: string,
): Promise<readonly SimulatedRoute[]> {
  const routes: SimulatedRoute[] = []
  for (const { method, currency } of METHODS) {
    const accounts = choices.pick([['sandbox'], ['sandbox', 'sandbox-down'], ['sandbox-down', 'sandbox']])
    const minimum_amount = choices.pick([0, 100])
    const { route } = await clientOf(RouteService).createRoute({
      merchantId,
      environment: Environment.TEST,
      direction: Direction.IN,
      method,
      currency,
      connector: 'sandbox',
      providerAccounts: accounts,
      hIdFormat: choices.chance(0.3) ? HIdFormat.NUMERIC : HIdFormat.UUID,
      expiresInSeconds: choices.pick([5, 10, 15]),
      minimumAmount: BigInt(minimum_amount),
      purpose: 'normal',
    })
    routes.push({ service_id: Number(route?.serviceId), method, currency, minimum_amount })
  }
  return routes
}

async function createEndpoints(
  clientOf: ClientOf,
  choices: Choices,
  merchantId: string,
  number: number,
): Promise<readonly SimulatedEndpoint[]> {
  const endpoints: SimulatedEndpoint[] = []
  for (let index = 0; index < choices.integer(1, 2); index += 1) {
    const origin = receiverOrigin(2 * number + index)
    const max_retries = choices.integer(2, 5)
    const { endpoint, secret } = await clientOf(EndpointService).createEndpoint({
      merchantId,
      environment: Environment.TEST,
      url: `${origin}/callbacks`,
      timeoutSeconds: choices.integer(5, 10),
      maxRetries: max_retries,
      retryDelaySeconds: 1,
    })
    endpoints.push({ endpoint_id: endpoint?.endpointId ?? '', origin, secret, max_retries })
  }
  return endpoints
}
