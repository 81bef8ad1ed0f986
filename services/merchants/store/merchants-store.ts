import type { Store } from '#lib/platform/store/store.ts'
import { type CredentialCollection, openCredentials } from './credentials.ts'
import { type EndpointCollection, openEndpoints } from './endpoints.ts'
import { type IssuedIds, openIssuedIds } from './issued-ids.ts'
import { type MerchantCollection, openMerchants } from './merchants.ts'
import { openRoutes, type RouteCollection } from './routes.ts'

/** All collections of the registry. */
export interface MerchantsStore {
  readonly merchants: MerchantCollection
  readonly credentials: CredentialCollection
  readonly routes: RouteCollection
  readonly endpoints: EndpointCollection
  readonly issued_ids: IssuedIds
}

/** Opens the collections of the registry in the database of this service. */
export async function openMerchantsStore(store: Store): Promise<MerchantsStore> {
  return {
    merchants: await openMerchants(store),
    credentials: await openCredentials(store),
    routes: await openRoutes(store),
    endpoints: await openEndpoints(store),
    issued_ids: await openIssuedIds(store),
  }
}
