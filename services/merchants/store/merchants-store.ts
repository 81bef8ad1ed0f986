import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Store } from '#lib/store/store.ts'
import type { Credential } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { Route } from '../domain/route.ts'
import { type IssuedIds, openIssuedIds } from './issued-ids.ts'
import {
  type OwnedCollection,
  openOwnedCollection,
  openRegistryCollection,
  ownedSpec,
  type RegistryCollection,
  type RegistryDocument,
  registrySpec,
} from './registry-collection.ts'

/** All collections of the registry. */
export interface MerchantsStore {
  readonly merchants: MerchantCollection
  readonly credentials: OwnedCollection<Credential, number>
  readonly routes: OwnedCollection<Route, number>
  readonly endpoints: OwnedCollection<Endpoint, string>
  readonly issued_ids: IssuedIds
}

/**
 * Opens the collections of the registry in the database of this service. The order is that of a backup
 * (docs/operators/backup.md): credentials, routes and endpoints name a merchant and have an issued id, so they are read
 * before those.
 */
export async function openMerchantsStore(store: Store): Promise<MerchantsStore> {
  return {
    credentials: await openOwnedCollection(store, CREDENTIALS),
    routes: await openOwnedCollection(store, ROUTES),
    endpoints: await openOwnedCollection(store, ENDPOINTS),
    merchants: await openMerchants(store),
    issued_ids: await openIssuedIds(store),
  }
}

/** The collection of merchants. */
interface MerchantCollection extends RegistryCollection<Merchant, string> {
  /** A page of all merchants, in the order of their numbers. Throws 9000 for a wrong page size or token. */
  listPage(request: PageRequest): Promise<Page<Merchant>>
}

/** Opens the collection of merchants, keyed by `merchant_id` and listed by number. */
async function openMerchants(store: Store): Promise<MerchantCollection> {
  const { collection, operations } = await openRegistryCollection<Merchant, string>(
    store,
    registrySpec('merchants', 'merchant_id', ['number']),
  )
  const position = { number: 'integer', merchant_id: 'text' } as const
  const list = { collection, index: 'in_order', range: {}, token_scope: {}, position }
  return { ...operations, listPage: (request) => readPage(list, request) }
}

/** The declaration of the credentials, keyed by `application_id`. */
export const CREDENTIALS = ownedSpec('credentials', 'application_id')

/** The declaration of the callback endpoints, keyed by `endpoint_id`. */
export const ENDPOINTS = ownedSpec('endpoints', 'endpoint_id')

const ROUTES = ownedSpec('routes', 'service_id')

type Writes<D extends RegistryDocument, Id> = Pick<RegistryCollection<D, Id>, 'insert' | 'update'>

/**
 * Wraps the store so that inserts and updates throw `Unavailable` while the clock of this process is wrong. Registry caches
 * find changes by `updated_at`, so a change with a wrong time, such as a revoked credential, would be missed.
 */
export function withTrustedWrites(store: MerchantsStore, clock_guard: ClockGuard): MerchantsStore {
  const trusted = <D extends RegistryDocument, Id>({ insert, update }: Writes<D, Id>): Writes<D, Id> => ({
    async insert(document) {
      clock_guard.assertTrusted()
      return await insert(document)
    },
    async update(id, decide) {
      clock_guard.assertTrusted()
      return await update(id, decide)
    },
  })
  const { merchants, credentials, routes, endpoints } = store
  return {
    ...store,
    merchants: { ...merchants, ...trusted(merchants) },
    credentials: { ...credentials, ...trusted(credentials) },
    routes: { ...routes, ...trusted(routes) },
    endpoints: { ...endpoints, ...trusted(endpoints) },
  }
}
