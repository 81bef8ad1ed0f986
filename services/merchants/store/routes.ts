import type { Store } from '#lib/store/store.ts'
import type { Route } from '../domain/route.ts'
import { type OwnedCollection, openOwnedCollection, ownedSpec } from './registry-collection.ts'

/** The collection of routes. */
export type RouteCollection = OwnedCollection<Route, number>

/** Opens the collection of routes, keyed by `service_id`. */
export function openRoutes(store: Store): Promise<RouteCollection> {
  return openOwnedCollection(store, ownedSpec('routes', 'service_id'))
}
