import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { notFound, parseNumericId } from '../domain/field-checks.ts'
import { checkEnvironmentOf, checkOwnedLimit } from '../domain/merchant.ts'
import {
  checkNewRoute,
  checkRouteSettings,
  type NewRoute,
  type Route,
  type RouteSettings,
} from '../domain/route.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './merchants.ts'

/** Creates a route of a merchant under the next service id. */
export async function createRoute(
  deps: MerchantsDeps,
  merchant_id: string,
  environment: Environment,
  input: NewRoute,
): Promise<Route> {
  const { store } = deps
  const merchant = await getMerchant(deps, merchant_id)
  checkEnvironmentOf(merchant, environment)
  const content = checkNewRoute(environment, input)
  checkOwnedLimit(await store.routes.listByMerchant(merchant_id))

  const service_id = await store.issued_ids.issue('route')
  const created_at = now()
  const route = await store.routes.insert({
    service_id,
    merchant_id,
    environment,
    ...content,
    enabled: true,
    created_at,
    updated_at: created_at,
  })
  await deps.announceChange(ChangeKind.ROUTE, service_id, merchant_id)
  return route
}

/** Lists the routes of a merchant, in the order of their ids. Refuses an unknown merchant with 1003. */
export async function listRoutes(deps: MerchantsDeps, merchant_id: string): Promise<readonly Route[]> {
  await getMerchant(deps, merchant_id)
  return await deps.store.routes.listByMerchant(merchant_id)
}

/** Changes the given settings of a route, or disables it. Its other fields never change: create another route. */
export async function updateRoute(
  deps: MerchantsDeps,
  service_id: string,
  { enabled, ...settings }: Partial<RouteSettings & Pick<Route, 'enabled'>>,
): Promise<Route> {
  // A request without the id carries 0.
  if (service_id === '' || service_id === '0') throw fieldError(1005, 'service_id')
  const id = parseNumericId(service_id)
  const changesOf = ({ direction }: Route): Partial<Route> => ({
    ...checkRouteSettings(direction, settings),
    ...(enabled !== undefined && { enabled }),
  })
  const route = id === undefined ? undefined : await deps.store.routes.update(id, changesOf)
  if (!route) throw notFound(1004, 'service_id')
  await deps.announceChange(ChangeKind.ROUTE, route.service_id, route.merchant_id)
  return route
}
