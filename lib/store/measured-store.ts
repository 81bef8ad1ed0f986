import { clock } from '#lib/base/time.ts'
import { histogram } from '#lib/telemetry/metrics.ts'
import type { CollectionSpec, Store } from './store.ts'

const seconds = histogram(
  'multihub_store_seconds',
  'Duration of calls of the store, also of those that failed, by collection and operation.',
  ['role', 'collection', 'operation'],
)

/** Wraps the store of a role so that the calls of its collections are measured. */
export function withStoreMetrics(store: Store, role: string): Store {
  return {
    ...store,
    async collection<D extends object>(spec: CollectionSpec) {
      const { insert, get, find, count, replace, delete: remove } = await store.collection<D>(spec)
      const measured = <Parameters extends readonly unknown[], Result>(
        operation: string,
        call: (...parameters: Parameters) => Promise<Result>,
      ): typeof call => {
        const labels = { role, collection: spec.name, operation }
        return (...parameters) => {
          const began_ms = clock.monotonic_ms()
          const observe = (): void => seconds.observe(labels, (clock.monotonic_ms() - began_ms) / 1_000)
          const result = call(...parameters)
          result.then(observe, observe)
          // The very promise of the store, because `InsertOptions.after` knows a write by its promise.
          return result
        }
      }
      return {
        insert: measured('insert', insert),
        get: measured('get', get),
        find: measured('find', find),
        count: measured('count', count),
        replace: measured('replace', replace),
        delete: measured('delete', remove),
      }
    },
  }
}
