import { PublicError } from '#lib/contract/errors/public-error.ts'
import { clock } from '#lib/platform/time.ts'

/** How much may be under way, and how much may wait for that. */
export interface SemaphoreLimits {
  /** The most reads under way at once. */
  readonly concurrency_max: number
  /** The most reads that wait for their turn; who needs one more is told 2002. */
  readonly waiting_max: number
  /** A read that waited longer than this, in milliseconds, is not made any more: 2002. */
  readonly wait_max_ms: number
}

/** Turns, given in the order of asking. */
export interface Semaphore {
  /** Answers nothing when it is the caller's turn at once, else a promise of it, which may reject: `PublicError` 2002. */
  acquire(): Promise<void> | undefined
  /** Ends a turn that was taken. */
  release(): void
}

interface Waiting {
  readonly since_ms: number
  readonly begin: () => void
  readonly refuse: (error: PublicError) => void
}

/**
 * Makes turns. Waiting costs no timer: whether somebody waited for too long is seen when a turn ends, and each does
 * because each read has a time limit.
 */
export function createSemaphore({
  concurrency_max: reads_max,
  waiting_max,
  wait_max_ms: waiting_max_ms,
}: SemaphoreLimits): Semaphore {
  const waiting: Waiting[] = []
  let taken = 0

  return {
    acquire() {
      if (taken < reads_max) {
        taken += 1
        return undefined
      }
      if (waiting.length >= waiting_max) return Promise.reject(new PublicError(2002))
      const { promise, resolve: begin, reject: refuse } = Promise.withResolvers<void>()
      waiting.push({ since_ms: clock.monotonic_ms(), begin, refuse })
      return promise
    },
    release() {
      taken -= 1
      while (taken < reads_max) {
        const next = waiting.shift()
        if (!next) return
        if (clock.monotonic_ms() - next.since_ms > waiting_max_ms) {
          next.refuse(new PublicError(2002))
        } else {
          taken += 1
          next.begin()
        }
      }
    },
  }
}
