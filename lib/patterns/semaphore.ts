import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'

/** The limits of a semaphore. */
export interface SemaphoreLimits {
  /** The most holders at once. */
  readonly concurrency_max: number
  /** The most waiters; one more is refused with 2002. */
  readonly waiting_max: number
  /** A waiter whose turn comes later than this, in milliseconds, is refused with 2002. */
  readonly wait_max_ms: number
}

interface Waiter {
  readonly since_ms: number
  readonly admit: () => void
  readonly refuse: (error: PublicError) => void
}

/**
 * Creates a semaphore. Waiting needs no timer: the age of a waiter is checked at each release, and releases keep coming
 * because whatever holds the semaphore has a time limit.
 */
export function createSemaphore({ concurrency_max, waiting_max, wait_max_ms }: SemaphoreLimits) {
  const waiters: Waiter[] = []
  let holders = 0

  return {
    /** Returns `undefined` when the semaphore is acquired at once, otherwise a promise of it. Rejects with 2002. */
    acquire(): Promise<void> | undefined {
      if (holders < concurrency_max) {
        holders += 1
        return undefined
      }
      if (waiters.length >= waiting_max) return Promise.reject(new PublicError(2002))
      const { promise, resolve: admit, reject: refuse } = Promise.withResolvers<void>()
      waiters.push({ since_ms: clock.monotonic_ms(), admit, refuse })
      return promise
    },
    /** Gives back what `acquire` took. */
    release() {
      holders -= 1
      while (holders < concurrency_max) {
        const next = waiters.shift()
        if (!next) return
        if (clock.monotonic_ms() - next.since_ms > wait_max_ms) {
          next.refuse(new PublicError(2002))
        } else {
          holders += 1
          next.admit()
        }
      }
    },
  }
}
