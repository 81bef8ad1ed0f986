import { LRUCache } from 'lru-cache'
import { withoutRequest } from '#lib/base/context.ts'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { createSemaphore } from '#lib/base/limit.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { log } from '#lib/telemetry/log.ts'

/** The value of a read and the time at which the read began: the value may be that old. */
interface ReadResult<F> {
  readonly value: F
  /** On the monotonic clock. */
  readonly started_ms: number
  /** On the wall clock. */
  readonly started_at_ms: number
}

interface ReadInProgress<F> {
  readonly result: Promise<ReadResult<F>>
  has_begun: boolean
}

/**
 * Creates the reads. `keep` receives each result, unless the key was forgotten during the read: the read may have seen
 * the value before or after that change.
 */
function createSharedReads<F>(
  read: (key: string) => Promise<F>,
  keep: (key: string, result: ReadResult<F>) => void,
  limits: CacheLimits,
) {
  const in_progress = new Map<string, ReadInProgress<F>>()
  const planned = new Map<string, Promise<ReadResult<F>>>()
  const semaphore = createSemaphore({
    holders_max: limits.concurrency_max,
    waiting_max: limits.waiting_max,
    refuse: () => new PublicError(2002),
  })

  const readOnce = async (key: string, acquired: Promise<void> | undefined): Promise<ReadResult<F>> => {
    if (acquired !== undefined) await acquired
    const started_ms = clock.monotonic_ms()
    const started_at_ms = clock.now_ms()
    try {
      // The read serves all its callers, so the deadline of the first request must not end it.
      const value = await withoutRequest(() => read(key))
      return { value, started_ms, started_at_ms }
    } catch (cause) {
      // For a caller, a registry that cannot be read is a dependency that is down (E13).
      throw new PublicError(2002, { cause })
    } finally {
      semaphore.release()
    }
  }

  const begin = (key: string): Promise<ReadResult<F>> => {
    const waiting = semaphore.acquire(limits.wait_max_ms)
    const acquired = waiting?.then(() => {
      begun.has_begun = true
    })
    const begun: ReadInProgress<F> = { result: readOnce(key, acquired), has_begun: waiting === undefined }
    in_progress.set(key, begun)
    const end = (result?: ReadResult<F>): void => {
      if (in_progress.get(key) !== begun) return
      in_progress.delete(key)
      if (result) keep(key, result)
    }
    begun.result.then(end, () => end())
    return begun.result
  }

  /**
   * Invalidates the read in progress: its present callers get its result, but it is neither kept nor joined. A read that
   * still waits for the semaphore is not affected, because it will see the change.
   */
  const forget = (key: string): void => {
    if (in_progress.get(key)?.has_begun === true) in_progress.delete(key)
  }

  const pausedRead = async (
    key: string,
    last_started_ms: number,
    interval_ms: number,
  ): Promise<ReadResult<F>> => {
    await Promise.allSettled([in_progress.get(key)?.result])
    const delay_ms = last_started_ms + interval_ms - clock.monotonic_ms()
    if (delay_ms > 0) await sleep(delay_ms)
    planned.delete(key)
    return begin(key)
  }

  return {
    /** Joins the read in progress, or starts one. */
    read: (key: string) => in_progress.get(key)?.result ?? begin(key),
    /**
     * Returns a read that begins after this call, and at least `interval_ms` after `last_started_ms`, the beginning of the
     * previous read. All calls before it begins share it.
     */
    readAfter(key: string, last_started_ms: number, interval_ms: number): Promise<ReadResult<F>> {
      const planned_read = planned.get(key)
      if (planned_read !== undefined) return planned_read
      const next = pausedRead(key, last_started_ms, interval_ms)
      planned.set(key, next)
      return next
    },
    forget,
    forgetAll() {
      for (const key of in_progress.keys()) forget(key)
    },
  }
}

/** A value with the merchant that owns it: a change of the merchant drops the value. */
export interface CachedValue<V> {
  readonly value: V
  readonly merchant_id: string
}

/** The bounds of a cache. Times are in milliseconds. */
export interface CacheLimits {
  /** The most reads at once. */
  readonly concurrency_max: number
  /** The most reads that wait. One more is refused with 2002, as is one that waits for longer than `wait_max_ms`. */
  readonly waiting_max: number
  readonly wait_max_ms: number
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
export type ReadThroughCache<V> = ReturnType<typeof createReadThroughCache<V>>

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
) {
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
    /** The value; `undefined` for an unknown key. Throws `PublicError` 2002 when a necessary read fails. */
    async get(key: string): Promise<V | undefined> {
      const entry = findUsable(key)
      if (!entry) return (await reads.read(key)).value?.value
      refreshIfOld(key, entry)
      return entry.value?.value
    },
    /** The value by a read that began after `instant`, which must lie in the past. */
    async getReadAfter(key: string, instant: Date): Promise<V | undefined> {
      const entry = findUsable(key)
      if (entry && entry.started_at_ms >= instant.getTime() + CLOCK_SKEW_MS) return entry.value?.value
      const last_started_ms = entry?.started_ms ?? Number.NEGATIVE_INFINITY
      return (await reads.readAfter(key, last_started_ms, limits.read_interval_ms)).value?.value
    },
    /** Drops a key that changed. */
    drop(key: string) {
      present.delete(key)
      absent.delete(key)
      reads.forget(key)
    },
    /** Drops the values of merchants that changed, in one pass over the cache. */
    dropMerchants(merchants: readonly string[]) {
      if (merchants.length === 0) return
      const merchant_ids = new Set(merchants)
      const keys = [...present]
        .filter(([, { value }]) => value !== undefined && merchant_ids.has(value.merchant_id))
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
