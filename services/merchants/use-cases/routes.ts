import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { checkOwnedLimit } from '../domain/merchant.ts'
import { checkRouteIdentity, type NewRouteIdentity, ROUTE_SETTINGS, type Route } from '../domain/route.ts'
import { changedSettings, type GivenSettings, newSettings } from '../domain/settings.ts'
import { createOnce } from './create-once.ts'
import type { MerchantsDeps } from './deps.ts'
import { scopeOf } from './merchants.ts'

type GivenRoute = GivenSettings<typeof ROUTE_SETTINGS>

/** Creates a route of a merchant under the next service id, once per `operation_id`. */
export function createRoute(
  deps: MerchantsDeps,
  operation_id: string,
  given: MerchantScope & NewRouteIdentity & GivenRoute,
): Promise<Route> {
  const { routes, issued_ids } = deps.store
  const creation = { merchant_id: given.merchant_id, operation_id, given }
  return createOnce(deps.store, routes, creation, async () => {
    const scope = await scopeOf(deps, given)
    const identity = checkRouteIdentity(scope.environment, given)
    const settings = newSettings(ROUTE_SETTINGS, given, given.direction)
    checkOwnedLimit(await routes.listByMerchant(scope.merchant_id))
    return {
      issueId: () => issued_ids.issue('route').then(String),
      documentOf: (id) => ({ service_id: Number(id), ...scope, ...identity, ...settings }),
    }
  })
}

/** Changes the given settings of a route. Its other fields never change: create another route. */
export function updateRoute({ store }: MerchantsDeps, service_id: string, given: GivenRoute): Promise<Route> {
  return store.routes.update(service_id, ({ direction }) => changedSettings(ROUTE_SETTINGS, given, direction))
}
