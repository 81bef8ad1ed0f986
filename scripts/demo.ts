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
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { type Direction, PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import { SCOPES } from '#lib/contract/vocabulary.ts'
import type { ReadyUrls } from '#lib/platform/process/run.ts'
import type { ClientOf } from '#lib/platform/rpc/rpc.ts'
import { readDemo, writePrivately } from './local.ts'

const MERCHANTS = [
  { name: 'alpha', timezone: 'Asia/Kolkata' },
  { name: 'beta', timezone: 'America/Mexico_City' },
] as const

const VERSIONS = { v1: ApiVersion.V1, v2: ApiVersion.V2 } as const

/** 1,000,000.00 in minor units. */
const OPENING_BALANCE = 100_000_000n

interface Wanted {
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
 * Brings the demonstration's data to what R3 says and writes demo.json beside the state. What is there already stays,
 * so it can be cut off anywhere and begun again; a secret that no demo.json remembers is replaced.
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
  const secrets = await readDemo(path)
  const { merchants: existing } = await services.merchants.listMerchants({ pageSize: 100 })
  const merchants = []
  for (const wanted of MERCHANTS) {
    const known = existing.find(({ name }) => name === wanted.name)
    const merchant =
      known ??
      (await services.merchants.createMerchant({ ...wanted, environments: [Environment.TEST] })).merchant
    if (!merchant) throw new Error('a merchant was created and not shown')
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
  for (const wanted of wantedRoutes()) {
    const route =
      existing.find((one) => isRoute(one, wanted)) ?? (await createRoute(services, merchant_id, wanted))
    const { purpose, direction, method, currency } = wanted
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
    const known = existing.find((credential) => credential.apiVersion === apiVersion)
    const entry = { api_version, environment: 'test', scopes: SCOPES }
    if (known) {
      const application_id = Number(known.applicationId)
      const remembered = secrets.get(application_id)
      const secret = remembered ?? (await client.rotateSecret({ applicationId: known.applicationId })).secret
      seeded.push({ application_id, ...entry, secret })
    } else {
      const created = await client.createCredential({
        merchantId,
        apiVersion,
        environment: Environment.TEST,
        scopes: [...SCOPES],
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

/** A route for every pair of P13, and in INR one for each way in which a route can be special (R3). */
function wantedRoutes(): Wanted[] {
  const provider_accounts = ['sandbox']
  const wanted: Wanted[] = []
  for (const direction of ['in', 'out'] as const) {
    for (const [method, currencies] of Object.entries(PAYMENT_METHODS[direction])) {
      for (const currency of currencies)
        wanted.push({ purpose: 'normal', direction, method, currency, provider_accounts })
    }
  }
  for (const [direction, method] of [
    ['in', 'upi'],
    ['out', 'imps'],
  ] as const) {
    const inr = { direction, method, currency: 'INR' } as const
    wanted.push({ purpose: 'provider_down', ...inr, provider_accounts: ['sandbox-down'] })
    wanted.push({ purpose: 'failover', ...inr, provider_accounts: ['sandbox-down', 'sandbox'] })
    wanted.push({ purpose: 'numeric_id', ...inr, provider_accounts, numeric: true })
    if (direction === 'in')
      wanted.push({ purpose: 'short_expiry', ...inr, provider_accounts, expires_in_seconds: 5 })
  }
  return wanted
}

function isRoute(route: Route, { purpose, direction, method, currency }: Wanted): boolean {
  const same_pair = route.method === method && route.currency === currency
  return route.purpose === purpose && route.direction === directionOf(direction) && same_pair
}

async function createRoute(
  { routes }: Services,
  merchantId: string,
  wanted: Wanted,
): Promise<Route | undefined> {
  const { purpose, direction, method, currency, provider_accounts, numeric, expires_in_seconds = 0 } = wanted
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
