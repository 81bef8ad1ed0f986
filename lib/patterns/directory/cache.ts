import { createLru } from '#lib/patterns/lru.ts'
import type { SemaphoreLimits } from '#lib/patterns/semaphore.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import { createSharedReads, type ReadResult } from './reads.ts'

/** What a read found, and whose it is: a change of that merchant drops it. */
export interface CachedValue<V> {
  readonly value: V
  readonly merchant_id: string
}

/** The bounds of a cache. Times are in milliseconds. */
export interface CacheLimits extends SemaphoreLimits {
  /** The most values that are kept. */
  readonly present_max: number
  /** The most keys that name nothing, kept apart: strangers can ask for any number of those. */
  readonly absent_max: number
  /** How long a value is served after it was read or confirmed, whichever came later. */
  readonly unconfirmed_max_ms: number
  /** How long a key that names nothing is remembered while merchants cannot be reached. */
  readonly absent_unconfirmed_ms: number
  /**
   * At this age a value is also read anew behind its callers' backs, and a key that names nothing is forgotten:
   * whatever went unnoticed heals.
   */
  readonly refresh_ms: number
  /** The least time between two reads of one key for `getSince`. */
  readonly read_interval_ms: number
}

/** The limits that processes run with. */
export const CACHE_LIMITS: CacheLimits = {
  present_max: 10_000,
  absent_max: 10_000,
  // Half of what one connection carries: the question about changes and the other caches need the rest.
  concurrency_max: 500,
  waiting_max: 10_000,
  wait_max_ms: 2_000,
  unconfirmed_max_ms: 60_000,
  absent_unconfirmed_ms: 1_000,
  refresh_ms: 60_000,
  read_interval_ms: 10,
}

/** The wall clocks of two processes are taken to differ by less than this. */
const CLOCK_SKEW_MS = 1_000

/** The least time between two refreshes of one key, so that a failing one is not tried at every request. */
const REFRESH_PAUSE_MS = 1_000

/** Merchants counts as reachable for this long after the last confirmation. */
export const REACHABLE_MS = 3_000

/** A read-through cache by key. Of the callers that miss a key at the same time one reads, and all get its answer. */
export interface RegistryCache<V> {
  /** The value; `undefined` when the key names nothing. Throws `PublicError` 2002 when it must be read and cannot. */
  get(key: string): Promise<V | undefined>
  /** The same, but at least as new as `instant`, which lies in the past of whoever saw it. */
  getSince(key: string, instant: Date): Promise<V | undefined>
  /** Forgets a key that changed. */
  drop(key: string): void
  /** Forgets whatever belongs to a merchant that changed. */
  dropMerchant(merchant_id: string): void
  dropAll(): void
}

interface Entry<V> extends ReadResult<CachedValue<V> | undefined> {
  next_refresh_ms: number
}

/**
 * Makes a cache over `read`. `confirmedAt` answers the instant of the monotonic clock up to which everything that had
 * changed is known to have been dropped: a value is trusted for as long after that as after its own read.
 */
export function createRegistryCache<V>(
  read: (key: string) => Promise<CachedValue<V> | undefined>,
  confirmedAt: () => number,
  limits: CacheLimits = CACHE_LIMITS,
): RegistryCache<V> {
  const present = createLru<Entry<V>>(limits.present_max)
  const absent = createLru<Entry<V>>(limits.absent_max)
  const reads = createSharedReads(read, keep, limits)

  function keep(key: string, result: ReadResult<CachedValue<V> | undefined>): void {
    const [where, other] = result.value ? [present, absent] : [absent, present]
    other.delete(key)
    where.set(key, { ...result, next_refresh_ms: result.started_ms + limits.refresh_ms })
  }

  function usable(key: string): Entry<V> | undefined {
    const now_ms = clock.monotonic_ms()
    const entry = present.get(key)
    if (entry) {
      return now_ms - Math.max(entry.started_ms, confirmedAt()) < limits.unconfirmed_max_ms
        ? entry
        : undefined
    }
    const nothing = absent.get(key)
    const remembered_ms = isReachable(now_ms) ? limits.refresh_ms : limits.absent_unconfirmed_ms
    return nothing && now_ms - nothing.started_ms < remembered_ms ? nothing : undefined
  }

  /** Whether a change of what is kept would have been told by now, or very soon. */
  function isReachable(now_ms: number): boolean {
    return now_ms - confirmedAt() <= REACHABLE_MS
  }

  function refreshWhenOld(key: string, entry: Entry<V>): void {
    const now_ms = clock.monotonic_ms()
    if (now_ms < entry.next_refresh_ms || !isReachable(now_ms)) return
    entry.next_refresh_ms = now_ms + REFRESH_PAUSE_MS
    reads
      .shared(key)
      .catch((error) => log.warn({ error }, 'a cached entry of the registry was not refreshed'))
  }

  return {
    async get(key) {
      const entry = usable(key)
      if (!entry) return (await reads.shared(key)).value?.value
      refreshWhenOld(key, entry)
      return entry.value?.value
    },
    async getSince(key, instant) {
      const entry = usable(key)
      if (entry && entry.started_at_ms >= instant.getTime() + CLOCK_SKEW_MS) return entry.value?.value
      const last_started_ms = entry?.started_ms ?? Number.NEGATIVE_INFINITY
      return (await reads.fresh(key, last_started_ms, limits.read_interval_ms)).value?.value
    },
    drop(key) {
      present.delete(key)
      absent.delete(key)
      reads.forget(key)
    },
    dropMerchant(merchant_id) {
      present.deleteWhere((entry) => entry.value?.merchant_id === merchant_id)
      // Whose the reads under way will turn out to be is not known yet.
      reads.forgetAll()
    },
    dropAll() {
      present.clear()
      absent.clear()
      reads.forgetAll()
    },
  }
}
