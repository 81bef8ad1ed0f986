import type { Environment } from '#lib/contract/environment.ts'
import { checkCount, invalid, notFound } from './domain/check.ts'
import type { MerchantsStore } from './store/merchants-store.ts'
import { numberFrom } from './use-cases/registry.ts'

const ROUTES_MAX = 500

/**
 * The routes that a credential is restricted to, each once. All of them are the merchant's, in the credential's
 * environment: one that is not would restrict to nothing while the operator thinks otherwise.
 */
export async function checkRoutes(
  store: MerchantsStore,
  service_ids: readonly string[],
  owner: { readonly merchant_id: string; readonly environment: Environment },
): Promise<number[]> {
  if (service_ids.length === 0) return []
  checkCount(service_ids, 'service_ids', ROUTES_MAX)
  const routes = new Map(
    (await store.routes.ofMerchant(owner.merchant_id)).map((route) => [route.service_id, route]),
  )
  const checked = service_ids.map((service_id, place) => {
    const route = routes.get(numberFrom(service_id) ?? 0)
    if (!route) throw notFound(1004, `service_ids.${place}`)
    if (route.environment !== owner.environment) {
      throw invalid(`service_ids.${place}`, `a route of the ${owner.environment} environment`)
    }
    return route.service_id
  })
  return [...new Set(checked)]
}
