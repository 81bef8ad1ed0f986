import type { Store } from '#lib/store/store.ts'
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

/**
 * Opens the collections of the registry in the database of this service. The order is that of a backup
 * (docs/operators/backup.md): credentials, routes and endpoints name a merchant and have an issued id, so they are read
 * before those.
 */
export async function openMerchantsStore(store: Store): Promise<MerchantsStore> {
  return {
    credentials: await openCredentials(store),
    routes: await openRoutes(store),
    endpoints: await openEndpoints(store),
    merchants: await openMerchants(store),
    issued_ids: await openIssuedIds(store),
  }
}
