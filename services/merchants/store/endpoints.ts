import type { Store } from '#lib/platform/store/store.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import { type OwnedCollection, openOwnedCollection } from './registry-collection.ts'

/** The collection of callback endpoints. */
export type EndpointCollection = OwnedCollection<Endpoint, string>

/** Opens the collection of endpoints, keyed by `endpoint_id`. */
export function openEndpoints(store: Store): Promise<EndpointCollection> {
  return openOwnedCollection(store, 'endpoints', 'endpoint_id')
}
