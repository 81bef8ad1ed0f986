import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import type { MerchantsStore } from './merchants-store.ts'
import type { RegistryCollection, RegistryDocument } from './registry-collection.ts'

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
