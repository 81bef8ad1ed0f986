import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { now } from '#lib/platform/time.ts'
import { checkInteger, checkText } from '../domain/check.ts'
import { checkEnvironmentOf } from '../domain/merchant.ts'
import {
  checkAccounts,
  checkConnector,
  checkLimits,
  checkMethod,
  checkMinimum,
  EXPIRES_DEFAULT_SECONDS,
  EXPIRES_MAX_SECONDS,
  type HIdFormat,
  type PayoutLimits,
  PURPOSE_MAX,
  type Route,
} from '../domain/route.ts'
import { type Registry, refuseWhenFull, requireMerchant } from './registry.ts'

/** What the operator says of a new route. */
export interface NewRoute {
  readonly merchant_id: string
  readonly environment: Environment
  readonly direction: Direction
  readonly method: string
  readonly currency: string
  readonly connector: string
  readonly provider_accounts: readonly string[]
  readonly h_id_format: HIdFormat
  /** 0 takes the default. */
  readonly expires_in_seconds: number
  readonly payout_limits: PayoutLimits
  readonly minimum_amount: bigint
  readonly purpose: string
}

/** Assigns a route to a merchant. */
export async function createRoute(registry: Registry, given: NewRoute): Promise<Route> {
  const { store } = registry
  const merchant = await requireMerchant(registry, given.merchant_id)
  const environment = checkEnvironmentOf(merchant, given.environment)
  const expires_in_seconds = given.expires_in_seconds || EXPIRES_DEFAULT_SECONDS
  const content = {
    environment,
    direction: given.direction,
    method: given.method,
    currency: checkMethod(given.direction, given.method, given.currency),
    connector: checkConnector(environment, given.connector),
    provider_accounts: checkAccounts(given.provider_accounts),
    h_id_format: given.h_id_format,
    expires_in_seconds: checkInteger(expires_in_seconds, 'expires_in_seconds', 1, EXPIRES_MAX_SECONDS),
    payout_limits: checkLimits(given.direction, given.payout_limits),
    minimum_amount: checkMinimum(given.minimum_amount),
    purpose: checkText(given.purpose, 'purpose', PURPOSE_MAX),
  }
  refuseWhenFull(await store.routes.ofMerchant(merchant.merchant_id))

  const service_id = await store.nextNumber('service')
  const created_at = now()
  const route = await store.routes.insert({
    service_id,
    merchant_id: merchant.merchant_id,
    ...content,
    enabled: true,
    created_at,
    updated_at: created_at,
  })
  await registry.announce(ChangeKind.ROUTE, service_id, merchant.merchant_id)
  return route
}
