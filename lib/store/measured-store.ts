import { clock } from '#lib/base/time.ts'
import { histogram } from '#lib/telemetry/metrics.ts'
import type { Collection, CollectionSpec, Store } from './store.ts'

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
      const calls: Readonly<Record<string, Call>> = { ...(await store.collection<D>(spec)) }
      const measured = Object.entries(calls).map(([operation, call]): [string, Call] => {
        const labels = { role, collection: spec.name, operation }
        return [operation, measuredCall(labels, call)]
      })
      // The same methods, each with the parameters and the promise of the store's.
      return Object.fromEntries(measured) as unknown as Collection<D>
    },
  }
}

type Call = (...parameters: readonly never[]) => Promise<unknown>

function measuredCall(labels: Parameters<typeof seconds.observe>[0], call: Call): Call {
  return (...parameters) => {
    const began_ms = clock.monotonic_ms()
    const observe = (): void => seconds.observe(labels, (clock.monotonic_ms() - began_ms) / 1_000)
    const result = call(...parameters)
    result.then(observe, observe)
    // The very promise of the store, because `InsertOptions.after` knows a write by its promise.
    return result
  }
}
