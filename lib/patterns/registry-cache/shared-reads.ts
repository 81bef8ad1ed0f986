import { withoutRequest } from '#lib/base/context.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createSemaphore, type SemaphoreLimits } from '#lib/patterns/semaphore.ts'

/** The value of a read and the time at which the read began: the value may be that old. */
export interface ReadResult<F> {
  readonly value: F
  /** On the monotonic clock. */
  readonly started_ms: number
  /** On the wall clock. */
  readonly started_at_ms: number
}

/** Reads by key, with at most one read per key in progress. Every method throws `PublicError` 2002 when the read fails. */
export interface SharedReads<F> {
  /** Joins the read in progress, or starts one. */
  read(key: string): Promise<ReadResult<F>>
  /**
   * Returns a read that begins after this call, and at least `interval_ms` after `last_started_ms`, the beginning of the
   * previous read. All calls before it begins share it.
   */
  readAfter(key: string, last_started_ms: number, interval_ms: number): Promise<ReadResult<F>>
  /**
   * Invalidates the read in progress: its present callers get its result, but it is neither kept nor joined. A read that
   * still waits for the semaphore is not affected, because it will see the change.
   */
  forget(key: string): void
  forgetAll(): void
}

interface ReadInProgress<F> {
  readonly result: Promise<ReadResult<F>>
  has_begun: boolean
}

/**
 * Creates the reads. `keep` receives each result, unless the key was forgotten during the read: the read may have seen
 * the value before or after that change.
 */
export function createSharedReads<F>(
  read: (key: string) => Promise<F>,
  keep: (key: string, result: ReadResult<F>) => void,
  limits: SemaphoreLimits,
): SharedReads<F> {
  const in_progress = new Map<string, ReadInProgress<F>>()
  const planned = new Map<string, Promise<ReadResult<F>>>()
  const semaphore = createSemaphore(limits)

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
    const waiting = semaphore.acquire()
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
    read: (key) => in_progress.get(key)?.result ?? begin(key),
    readAfter(key, last_started_ms, interval_ms) {
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
