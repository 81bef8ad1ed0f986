import type { Release } from './budget.ts'
import type { Effect } from './effect.ts'

/** The leases that this process wrote and has not used yet. */
export interface UnusedLeases {
  /** Adds the lease of an effect, with the release of its budget. */
  add(effect: Effect, release: Release): void
  /** Removes the lease of an effect and returns the release of its budget; `undefined` unless it is here. */
  take(effect: Effect): Release | undefined
  /** Gives back what is reserved for leases that expired unused, the oldest first, in case a caller never ran them. */
  dropExpired(at: Date): void
}

/** Creates the collection of unused leases of one runner. */
export function createUnusedLeases(): UnusedLeases {
  const by_token = new Map<string, { readonly until: Date; readonly release: Release }>()
  return {
    add({ lease }, release) {
      if (lease) by_token.set(lease.token, { until: lease.until, release })
    },
    take({ lease }) {
      const unused = lease && by_token.get(lease.token)
      if (unused) by_token.delete(lease.token)
      return unused?.release
    },
    dropExpired(at) {
      for (const [token, { until, release }] of by_token) {
        if (until > at) return
        by_token.delete(token)
        release()
      }
    },
  }
}
