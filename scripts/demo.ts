import { join } from 'node:path'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type CreateRouteRequest, RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { DIRECTIONS, type Direction, PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { ReadyUrls } from '../app/run.ts'
import { readDemo, writePrivately } from './local.ts'

const MERCHANTS = [
  { name: 'alpha', timezone: 'Asia/Kolkata' },
  { name: 'beta', timezone: 'America/Mexico_City' },
] as const

const VERSIONS = { v1: ApiVersion.V1, v2: ApiVersion.V2 } as const

/** 1,000,000.00 in minor units. */
const OPENING_BALANCE = 100_000_000n

/** A route to create, and in what it differs from the others. */
interface RouteSpec
  extends Partial<Pick<CreateRouteRequest, 'providerAccounts' | 'hIdFormat' | 'expiresInSeconds'>> {
  readonly purpose: string
  readonly in_or_out: Direction
  readonly method: string
  readonly currency: string
}

/**
 * Creates the demonstration data (R3) and writes demo.json. Existing data is kept, so the function can be interrupted
 * anywhere and repeated. A credential whose secret is not in demo.json gets a new secret.
 */
export async function writeDemo(
  home: string,
  urls: ReadyUrls,
  operator_token: string,
  clientOf: ClientOf,
): Promise<void> {
  const client = clientOf(MerchantService)
  const written = (await readDemo(home))?.merchants.flatMap(({ credentials }) => credentials) ?? []
  const secrets = new Map(written.map(({ application_id, secret }) => [application_id, secret]))
  const { merchants: existing } = await client.listMerchants({ pageSize: 100 })
  const merchants = []
  for (const spec of MERCHANTS) {
    const merchant =
      existing.find(({ name }) => name === spec.name) ??
      (
        await client.createMerchant({
          ...spec,
          environments: [Environment.TEST],
          operationId: `demo-${spec.name}`,
        })
      ).merchant
    if (!merchant) throw new Error('CreateMerchant answered without a merchant')
    const { merchantId: merchant_id, name, timezone } = merchant
    await openBalances(clientOf, merchant_id)
    const credentials = await seedCredentials(clientOf, merchant_id, secrets)
    merchants.push({
      name,
      merchant_id,
      timezone,
      credentials,
      routes: await seedRoutes(clientOf, merchant_id),
    })
  }
  const operator = { token: operator_token }
  await writePrivately(join(home, 'demo.json'), { ...urls, operator, merchants })
}

/**
 * The token of the stored principal `demonstration`, which has every right (R3.1). It is made at the first start; later starts keep
 * the `known` one, and replace it only if demo.json was lost.
 */
export async function demonstrationToken(clientOf: ClientOf, known: string | undefined): Promise<string> {
  const client = clientOf(PrincipalService)
  const { principal, token } = await client.createPrincipal({
    name: 'demonstration',
    kind: PrincipalKind.PROGRAM,
    rights: ['read', 'support', 'money', 'admin', 'reveal', 'rotate'],
    operationId: 'demonstration',
  })
  if (token !== '') return token
  if (known !== undefined) return known
  const { principalId = '' } = principal ?? {}
  return (await client.rotateToken({ principalId })).token
}

async function openBalances(clientOf: ClientOf, merchantId: string): Promise<void> {
  for (const currency of ROUTE_CURRENCIES)
    await clientOf(BalanceService).adjust({
      merchantId,
      environment: Environment.TEST,
      currency,
      amount: { minor: OPENING_BALANCE, currency },
      reason: 'opening balance of the demonstration',
      operationId: `demo-opening-${currency}`,
    })
}

async function seedCredentials(
  clientOf: ClientOf,
  merchantId: string,
  secrets: ReadonlyMap<number, string>,
): Promise<unknown[]> {
  const client = clientOf(CredentialService)
  const { credentials: existing } = await client.listCredentials({ merchantId })
  const seeded = []
  for (const [api_version, apiVersion] of Object.entries(VERSIONS)) {
    const stored = existing.find((credential) => credential.apiVersion === apiVersion)
    const known = secrets.get(Number(stored?.applicationId))
    const created = stored
      ? {
          credential: stored,
          secret: known ?? (await client.rotateSecret({ applicationId: stored.applicationId })).secret,
        }
      : await client.createCredential({
          merchantId,
          apiVersion,
          environment: Environment.TEST,
          scopes: [...SCOPES],
          supportResources: [...SUPPORT_RESOURCES],
          operationId: `demo-${api_version}`,
        })
    const application_id = Number(created.credential?.applicationId)
    const { secret } = created
    seeded.push({ application_id, api_version, environment: 'test', scopes: SCOPES, secret })
  }
  return seeded
}

async function seedRoutes(clientOf: ClientOf, merchantId: string): Promise<unknown[]> {
  const client = clientOf(RouteService)
  const { routes: existing } = await client.listRoutes({ merchantId })
  const seeded = []
  for (const { in_or_out, ...spec } of routeSpecs()) {
    const { purpose, method, currency } = spec
    const direction = DIRECTIONS.toProto(in_or_out)
    const stored = existing.find(
      (route) =>
        route.purpose === purpose &&
        route.direction === direction &&
        route.method === method &&
        route.currency === currency,
    )
    const created = stored
      ? { route: stored }
      : await client.createRoute({
          merchantId,
          environment: Environment.TEST,
          direction,
          connector: 'sandbox',
          providerAccounts: ['sandbox'],
          hIdFormat: HIdFormat.UUID,
          ...spec,
          operationId: ['demo', in_or_out, method, currency, purpose].join('-'),
        })
    const service_id = Number(created.route?.serviceId)
    seeded.push({ service_id, purpose, direction: in_or_out, method, currency, environment: 'test' })
  }
  return seeded
}

/** One route for each method and currency of P13, and in INR one for each special purpose (R3). */
function routeSpecs(): RouteSpec[] {
  const specs: RouteSpec[] = []
  for (const in_or_out of DIRECTIONS.names)
    for (const [method, currencies] of Object.entries(PAYMENT_METHODS[in_or_out]))
      for (const currency of currencies) specs.push({ purpose: 'normal', in_or_out, method, currency })
  for (const [in_or_out, method] of [
    ['in', 'upi'],
    ['out', 'imps'],
  ] as const) {
    const inr = { in_or_out, method, currency: 'INR' } as const
    specs.push({ purpose: 'provider_down', ...inr, providerAccounts: ['sandbox-down'] })
    specs.push({ purpose: 'failover', ...inr, providerAccounts: ['sandbox-down', 'sandbox'] })
    specs.push({ purpose: 'numeric_id', ...inr, hIdFormat: HIdFormat.NUMERIC })
    if (in_or_out === 'in') specs.push({ purpose: 'short_expiry', ...inr, expiresInSeconds: 5 })
  }
  return specs
}
