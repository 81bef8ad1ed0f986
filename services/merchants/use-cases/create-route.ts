import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { Direction } from '#lib/contract/direction.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { checkLine } from '#lib/contract/operator-fields.ts'
import { checkInteger } from '../domain/field-checks.ts'
import { checkEnvironmentOf, checkOwnedLimit } from '../domain/merchant.ts'
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
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/** The fields of a new route. */
export interface NewRoute {
  readonly merchant_id: string
  readonly environment: Environment
  readonly direction: Direction
  readonly method: string
  readonly currency: string
  readonly connector: string
  readonly provider_accounts: readonly string[]
  readonly h_id_format: HIdFormat
  /** 0 means the default, 1800. */
  readonly expires_in_seconds: number
  readonly payout_limits: PayoutLimits
  readonly minimum_amount: bigint
  readonly purpose: string
}

/** Creates a route of a merchant under the next service id. */
export async function createRoute(deps: MerchantsDeps, input: NewRoute): Promise<Route> {
  const { store } = deps
  const merchant = await getMerchant(deps, input.merchant_id)
  const environment = checkEnvironmentOf(merchant, input.environment)
  const expires_in_seconds = input.expires_in_seconds || EXPIRES_DEFAULT_SECONDS
  const content = {
    environment,
    direction: input.direction,
    method: input.method,
    currency: checkMethod(input.direction, input.method, input.currency),
    connector: checkConnector(environment, input.connector),
    provider_accounts: checkAccounts(input.provider_accounts),
    h_id_format: input.h_id_format,
    expires_in_seconds: checkInteger(expires_in_seconds, 'expires_in_seconds', 1, EXPIRES_MAX_SECONDS),
    payout_limits: checkLimits(input.direction, input.payout_limits),
    minimum_amount: checkMinimum(input.minimum_amount),
    purpose: checkLine(input.purpose, 'purpose', PURPOSE_MAX),
  }
  checkOwnedLimit(await store.routes.listByMerchant(merchant.merchant_id))

  const service_id = await store.issued_ids.issue('route')
  const created_at = now()
  const route = await store.routes.insert({
    service_id,
    merchant_id: merchant.merchant_id,
    ...content,
    enabled: true,
    created_at,
    updated_at: created_at,
  })
  await deps.announceChange(ChangeKind.ROUTE, service_id, merchant.merchant_id)
  return route
}
