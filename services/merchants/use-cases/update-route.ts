import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { checkInteger, checkText, missing, notFound } from '../domain/check.ts'
import {
  checkAccounts,
  checkLimits,
  checkMinimum,
  EXPIRES_MAX_SECONDS,
  type PayoutLimits,
  PURPOSE_MAX,
  type Route,
} from '../domain/route.ts'
import { numberFrom, type Registry } from './registry.ts'

/** What the operator changes of a route; what is left out stays as it is. */
export interface RouteChanges {
  readonly enabled?: boolean
  readonly provider_accounts?: readonly string[]
  readonly expires_in_seconds?: number
  readonly payout_limits?: PayoutLimits
  readonly minimum_amount?: bigint
  readonly purpose?: string
}

/** Changes a route. What its payments rest on (method, currency, connector, owner) cannot: make another route. */
export async function updateRoute(
  registry: Registry,
  service_id: string,
  given: RouteChanges,
): Promise<Route> {
  if (service_id === '' || service_id === '0') throw missing('service_id')
  const number = numberFrom(service_id)
  const changes = (current: Route): Partial<Route> => checkChanges(current, given)
  const route = number === undefined ? undefined : await registry.store.routes.change(number, changes)
  if (!route) throw notFound(1004, 'service_id')
  await registry.announce(ChangeKind.ROUTE, route.service_id, route.merchant_id)
  return route
}

function checkChanges({ direction }: Route, given: RouteChanges): Partial<Route> {
  const { enabled, provider_accounts, expires_in_seconds, payout_limits, minimum_amount, purpose } = given
  return {
    ...(enabled !== undefined && { enabled }),
    ...(provider_accounts && { provider_accounts: checkAccounts(provider_accounts) }),
    ...(expires_in_seconds !== undefined && {
      expires_in_seconds: checkInteger(expires_in_seconds, 'expires_in_seconds', 1, EXPIRES_MAX_SECONDS),
    }),
    ...(payout_limits && { payout_limits: checkLimits(direction, payout_limits) }),
    ...(minimum_amount !== undefined && { minimum_amount: checkMinimum(minimum_amount) }),
    ...(purpose !== undefined && { purpose: checkText(purpose, 'purpose', PURPOSE_MAX) }),
  }
}
