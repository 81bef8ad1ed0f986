import { join } from 'node:path'
import type { Client } from '@connectrpc/connect'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction as DirectionProto, HIdFormat, type Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { type Direction, PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { ReadyUrls } from '../app/run.ts'
import { readDemoSecrets, writePrivately } from './local.ts'

const MERCHANTS = [
  { name: 'alpha', timezone: 'Asia/Kolkata' },
  { name: 'beta', timezone: 'America/Mexico_City' },
] as const

const VERSIONS = { v1: ApiVersion.V1, v2: ApiVersion.V2 } as const

/** 1,000,000.00 in minor units. */
const OPENING_BALANCE = 100_000_000n

interface RouteSpec {
  readonly purpose: string
  readonly direction: Direction
  readonly method: string
  readonly currency: string
  readonly provider_accounts: readonly string[]
  readonly numeric?: true
  readonly expires_in_seconds?: number
}

interface Services {
  readonly merchants: Client<typeof MerchantService>
  readonly credentials: Client<typeof CredentialService>
  readonly routes: Client<typeof RouteService>
  readonly balances: Client<typeof BalanceService>
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
  const services = {
    merchants: clientOf(MerchantService),
    credentials: clientOf(CredentialService),
    routes: clientOf(RouteService),
    balances: clientOf(BalanceService),
  }
  const path = join(home, 'demo.json')
  const secrets = await readDemoSecrets(path)
  const { merchants: existing } = await services.merchants.listMerchants({ pageSize: 100 })
  const merchants = []
  for (const spec of MERCHANTS) {
    const merchant =
      existing.find(({ name }) => name === spec.name) ??
      (await services.merchants.createMerchant({ ...spec, environments: [Environment.TEST] })).merchant
    if (!merchant) throw new Error('CreateMerchant answered without a merchant')
    merchants.push(await seedMerchant(services, merchant, secrets))
  }
  await writePrivately(path, { ...urls, operator: { token: operator_token }, merchants })
}

async function seedMerchant(
  services: Services,
  merchant: Merchant,
  secrets: ReadonlyMap<number, string>,
): Promise<unknown> {
  const { merchantId: merchant_id, name, timezone } = merchant
  const { routes: existing } = await services.routes.listRoutes({ merchantId: merchant_id })
  const routes = []
  for (const spec of routeSpecs()) {
    const route =
      existing.find((route) => matchesSpec(route, spec)) ?? (await createRoute(services, merchant_id, spec))
    const { purpose, direction, method, currency } = spec
    routes.push({
      service_id: Number(route?.serviceId),
      purpose,
      direction,
      method,
      currency,
      environment: 'test',
    })
  }
  for (const currency of ROUTE_CURRENCIES) {
    await services.balances.adjust({
      merchantId: merchant_id,
      environment: Environment.TEST,
      currency,
      amount: { minor: OPENING_BALANCE, currency },
      reason: 'opening balance of the demonstration',
      operationId: `demo-opening-${currency}`,
    })
  }
  return {
    name,
    merchant_id,
    timezone,
    credentials: await seedCredentials(services, merchant_id, secrets),
    routes,
  }
}

async function seedCredentials(
  { credentials: client }: Services,
  merchantId: string,
  secrets: ReadonlyMap<number, string>,
): Promise<unknown[]> {
  const { credentials: existing } = await client.listCredentials({ merchantId })
  const seeded = []
  for (const [api_version, apiVersion] of Object.entries(VERSIONS)) {
    const stored = existing.find((credential) => credential.apiVersion === apiVersion)
    const entry = { api_version, environment: 'test', scopes: SCOPES }
    if (stored) {
      const application_id = Number(stored.applicationId)
      const { applicationId } = stored
      // Data of an earlier release has no support methods yet.
      await client.updateCredential({ applicationId, supportResources: { values: [...SUPPORT_RESOURCES] } })
      const secret = secrets.get(application_id) ?? (await client.rotateSecret({ applicationId })).secret
      seeded.push({ application_id, ...entry, secret })
    } else {
      const created = await client.createCredential({
        merchantId,
        apiVersion,
        environment: Environment.TEST,
        scopes: [...SCOPES],
        supportResources: [...SUPPORT_RESOURCES],
      })
      seeded.push({
        application_id: Number(created.credential?.applicationId),
        ...entry,
        secret: created.secret,
      })
    }
  }
  return seeded
}

/** One route for each method and currency of P13, and in INR one for each special purpose (R3). */
function routeSpecs(): RouteSpec[] {
  const provider_accounts = ['sandbox']
  const specs: RouteSpec[] = []
  for (const direction of ['in', 'out'] as const) {
    for (const [method, currencies] of Object.entries(PAYMENT_METHODS[direction])) {
      for (const currency of currencies)
        specs.push({ purpose: 'normal', direction, method, currency, provider_accounts })
    }
  }
  for (const [direction, method] of [
    ['in', 'upi'],
    ['out', 'imps'],
  ] as const) {
    const inr = { direction, method, currency: 'INR' } as const
    specs.push({ purpose: 'provider_down', ...inr, provider_accounts: ['sandbox-down'] })
    specs.push({ purpose: 'failover', ...inr, provider_accounts: ['sandbox-down', 'sandbox'] })
    specs.push({ purpose: 'numeric_id', ...inr, provider_accounts, numeric: true })
    if (direction === 'in')
      specs.push({ purpose: 'short_expiry', ...inr, provider_accounts, expires_in_seconds: 5 })
  }
  return specs
}

function matchesSpec(route: Route, { purpose, direction, method, currency }: RouteSpec): boolean {
  const same_pair = route.method === method && route.currency === currency
  return route.purpose === purpose && route.direction === directionOf(direction) && same_pair
}

async function createRoute(
  { routes }: Services,
  merchantId: string,
  spec: RouteSpec,
): Promise<Route | undefined> {
  const { purpose, direction, method, currency, provider_accounts, numeric, expires_in_seconds = 0 } = spec
  const created = await routes.createRoute({
    merchantId,
    environment: Environment.TEST,
    direction: directionOf(direction),
    method,
    currency,
    connector: 'sandbox',
    providerAccounts: [...provider_accounts],
    hIdFormat: numeric ? HIdFormat.NUMERIC : HIdFormat.UUID,
    expiresInSeconds: expires_in_seconds,
    purpose,
  })
  return created.route
}

function directionOf(direction: Direction): DirectionProto {
  return direction === 'in' ? DirectionProto.IN : DirectionProto.OUT
}
