import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkLine } from '#lib/contract/operator-fields.ts'
import { checkInteger, notFound } from '../domain/field-checks.ts'
import { parseNumericId } from '../domain/numeric-id.ts'
import {
  checkAccounts,
  checkLimits,
  checkMinimum,
  EXPIRES_MAX_SECONDS,
  type PayoutLimits,
  PURPOSE_MAX,
  type Route,
} from '../domain/route.ts'
import type { MerchantsDeps } from './deps.ts'

/** The changes of a route. Absent fields keep their values. */
export interface RouteChanges {
  readonly enabled?: boolean
  readonly provider_accounts?: readonly string[]
  readonly expires_in_seconds?: number
  readonly payout_limits?: PayoutLimits
  readonly minimum_amount?: bigint
  readonly purpose?: string
}

/**
 * Changes a route. Method, currency, connector and owner cannot change, since payments depend on them: create another
 * route.
 */
export async function updateRoute(
  deps: MerchantsDeps,
  service_id: string,
  input: RouteChanges,
): Promise<Route> {
  // A request without the id carries 0.
  if (service_id === '' || service_id === '0') throw fieldError(1005, 'service_id')
  const id = parseNumericId(service_id)
  const changes = (current: Route): Partial<Route> => checkChanges(current, input)
  const route = id === undefined ? undefined : await deps.store.routes.update(id, changes)
  if (!route) throw notFound(1004, 'service_id')
  await deps.announceChange(ChangeKind.ROUTE, route.service_id, route.merchant_id)
  return route
}

function checkChanges({ direction }: Route, input: RouteChanges): Partial<Route> {
  const { enabled, provider_accounts, expires_in_seconds, payout_limits, minimum_amount, purpose } = input
  return {
    ...(enabled !== undefined && { enabled }),
    ...(provider_accounts && { provider_accounts: checkAccounts(provider_accounts) }),
    ...(expires_in_seconds !== undefined && {
      expires_in_seconds: checkInteger(expires_in_seconds, 'expires_in_seconds', 1, EXPIRES_MAX_SECONDS),
    }),
    ...(payout_limits && { payout_limits: checkLimits(direction, payout_limits) }),
    ...(minimum_amount !== undefined && { minimum_amount: checkMinimum(minimum_amount) }),
    ...(purpose !== undefined && { purpose: checkLine(purpose, 'purpose', PURPOSE_MAX) }),
  }
}
