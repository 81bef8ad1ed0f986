import type { Store } from '#lib/store/store.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import { type OwnedCollection, openOwnedCollection, ownedSpec } from './registry-collection.ts'

/** The collection of callback endpoints. */
export type EndpointCollection = OwnedCollection<Endpoint, string>

/** The declaration of the endpoints, keyed by `endpoint_id`. */
export const ENDPOINTS = ownedSpec('endpoints', 'endpoint_id')

/** Opens the collection of endpoints. */
export function openEndpoints(store: Store): Promise<EndpointCollection> {
  return openOwnedCollection(store, ENDPOINTS)
}
