import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock } from '#lib/base/time.ts'
import type { SemaphoreLimits } from '#lib/patterns/semaphore.ts'
import { log } from '#lib/telemetry/log.ts'
import { createSharedReads, type ReadResult } from './shared-reads.ts'

/** A value with the merchant that owns it: a change of the merchant drops the value. */
export interface CachedValue<V> {
  readonly value: V
  readonly merchant_id: string
}

/** The bounds of a cache. Times are in milliseconds. */
export interface CacheLimits extends SemaphoreLimits {
  /** The most values that are cached. */
  readonly present_max: number
  /**
   * The most unknown keys that are cached, separately, because clients without authentication can cause any number of
   * them.
   */
  readonly absent_max: number
  /** How long a value is served after its read or the last confirmation, whichever is later. */
  readonly unconfirmed_max_ms: number
  /** How long an unknown key is cached while the merchants service cannot be reached. */
  readonly absent_unconfirmed_ms: number
  /**
   * The age at which a value is read again in the background and an unknown key is forgotten, so that a change which
   * the watch missed takes effect after all.
   */
  readonly refresh_ms: number
  /** The shortest time between two reads of one key for `getReadAfter`. */
  readonly read_interval_ms: number
}

/** The limits in production. */
export const CACHE_LIMITS: CacheLimits = {
  present_max: 10_000,
  absent_max: 10_000,
  // Half of the streams of one connection: the polls for changes and the other caches need the rest.
  concurrency_max: 500,
  waiting_max: 10_000,
  wait_max_ms: 2_000,
  unconfirmed_max_ms: 60_000,
  absent_unconfirmed_ms: 1_000,
  refresh_ms: 60_000,
  read_interval_ms: 10,
}

/** The largest difference that is assumed between the wall clocks of two processes. */
const CLOCK_SKEW_MS = 1_000

/** The shortest time between two refreshes of one key, so that a failing refresh is not repeated at every request. */
const REFRESH_PAUSE_MS = 1_000

/** How long the merchants service counts as reachable after the last confirmation. */
export const REACHABLE_MS = 3_000

/** A read-through cache. Callers that miss a key at the same time share one read. */
export interface ReadThroughCache<V> {
  /** The value; `undefined` for an unknown key. Throws `PublicError` 2002 when a necessary read fails. */
  get(key: string): Promise<V | undefined>
  /** The value by a read that began after `instant`, which must lie in the past. */
  getReadAfter(key: string, instant: Date): Promise<V | undefined>
  /** Drops a key that changed. */
  drop(key: string): void
  /** Drops the values of a merchant that changed. */
  dropMerchant(merchant_id: string): void
  dropAll(): void
}

interface CacheEntry<V> extends ReadResult<CachedValue<V> | undefined> {
  next_refresh_ms: number
}

/**
 * Creates a cache over `read`. `confirmedAtMs` returns the monotonic time up to which all changes are known and dropped.
 * A value that is still cached was therefore correct at that time, so its age counts from there.
 */
export function createReadThroughCache<V>(
  read: (key: string) => Promise<CachedValue<V> | undefined>,
  confirmedAtMs: () => number,
  limits: CacheLimits = CACHE_LIMITS,
): ReadThroughCache<V> {
  const present = new LRUCache<string, CacheEntry<V>>(entriesUpTo(limits.present_max))
  const absent = new LRUCache<string, CacheEntry<V>>(entriesUpTo(limits.absent_max))
  const reads = createSharedReads(read, keep, limits)

  function keep(key: string, result: ReadResult<CachedValue<V> | undefined>): void {
    const [where, other] = result.value ? [present, absent] : [absent, present]
    other.delete(key)
    where.set(key, { ...result, next_refresh_ms: result.started_ms + limits.refresh_ms })
  }

  function findUsable(key: string): CacheEntry<V> | undefined {
    const now_ms = clock.monotonic_ms()
    const entry = present.get(key)
    if (entry) {
      return now_ms - Math.max(entry.started_ms, confirmedAtMs()) < limits.unconfirmed_max_ms
        ? entry
        : undefined
    }
    const unknown = absent.get(key)
    const kept_ms = isReachable(now_ms) ? limits.refresh_ms : limits.absent_unconfirmed_ms
    return unknown && now_ms - unknown.started_ms < kept_ms ? unknown : undefined
  }

  /** Whether the watch knows of every change by now, or will very soon. */
  function isReachable(now_ms: number): boolean {
    return now_ms - confirmedAtMs() <= REACHABLE_MS
  }

  function refreshIfOld(key: string, entry: CacheEntry<V>): void {
    const now_ms = clock.monotonic_ms()
    if (now_ms < entry.next_refresh_ms || !isReachable(now_ms)) return
    entry.next_refresh_ms = now_ms + REFRESH_PAUSE_MS
    reads.read(key).catch((error) => log.warn({ error }, 'a cached registry entry was not refreshed'))
  }

  return {
    async get(key) {
      const entry = findUsable(key)
      if (!entry) return (await reads.read(key)).value?.value
      refreshIfOld(key, entry)
      return entry.value?.value
    },
    async getReadAfter(key, instant) {
      const entry = findUsable(key)
      if (entry && entry.started_at_ms >= instant.getTime() + CLOCK_SKEW_MS) return entry.value?.value
      const last_started_ms = entry?.started_ms ?? Number.NEGATIVE_INFINITY
      return (await reads.readAfter(key, last_started_ms, limits.read_interval_ms)).value?.value
    },
    drop(key) {
      present.delete(key)
      absent.delete(key)
      reads.forget(key)
    },
    dropMerchant(merchant_id) {
      const keys = [...present]
        .filter(([, { value }]) => value?.merchant_id === merchant_id)
        .map(([key]) => key)
      for (const key of keys) present.delete(key)
      // The owner of a value is unknown while it is read.
      reads.forgetAll()
    },
    dropAll() {
      present.clear()
      absent.clear()
      reads.forgetAll()
    },
  }
}
