import type { Release } from './budget.ts'
import type { Effect } from './effect.ts'

/** The leases that this process wrote and has not used yet. */
export interface UnusedLeases {
  /** Adds the lease of an effect, with the release of its budget. */
  add(effect: Effect, release: Release): void
  /** Removes the lease of an effect and returns the release of its budget; `undefined` unless it is here. */
  take(effect: Effect): Release | undefined
  /** Gives back what is reserved for leases that expired unused, in case a caller never ran them. */
  dropExpired(at: Date): void
}

/**
 * Creates the collection of unused leases of one runner. Leases of different kinds last for different times, so all of
 * them are looked at, but only when the first of them may have expired.
 */
export function createUnusedLeases(): UnusedLeases {
  const by_token = new Map<string, { readonly until: Date; readonly release: Release }>()
  // Of all leases that were here since the last look; those that were taken may make it too early.
  let first_until_ms = Number.POSITIVE_INFINITY
  return {
    add({ lease }, release) {
      if (!lease) return
      by_token.set(lease.token, { until: lease.until, release })
      first_until_ms = Math.min(first_until_ms, lease.until.getTime())
    },
    take({ lease }) {
      const unused = lease && by_token.get(lease.token)
      if (unused) by_token.delete(lease.token)
      return unused?.release
    },
    dropExpired(at) {
      if (first_until_ms > at.getTime()) return
      first_until_ms = Number.POSITIVE_INFINITY
      for (const [token, { until, release }] of by_token) {
        if (until > at) {
          first_until_ms = Math.min(first_until_ms, until.getTime())
        } else {
          by_token.delete(token)
          release()
        }
      }
    },
  }
}
