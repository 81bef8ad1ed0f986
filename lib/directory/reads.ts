import { detached } from '#lib/context.ts'
import { PublicError } from '#lib/errors/public-error.ts'
import { clock, sleep } from '#lib/time.ts'

/** What a read gave, and when it began: it may be as old as that. */
export interface ReadResult<F> {
  readonly found: F
  /** On the monotonic clock. */
  readonly started_ms: number
  /** On the wall clock. */
  readonly started_at_ms: number
}

/** Reads by key, at most one under way for each. All of them throw `PublicError` 2002 when the read fails. */
export interface Reads<F> {
  /** The read that is under way, or a new one. */
  shared(key: string): Promise<ReadResult<F>>
  /** A read that begins after this call, and `pace_ms` after the last one began; all who ask until then share it. */
  fresh(key: string, last_started_ms: number, pace_ms: number): Promise<ReadResult<F>>
  /** Makes the read under way answer only those who already wait for it: its result is not kept, nor joined. */
  forget(key: string): void
  forgetAll(): void
}

/**
 * Makes reads of which at most `max` are under way. `keep` is given each result, unless the key was forgotten while
 * it was read: a change came between, and nobody can tell which side of it the read saw.
 */
export function createReads<F>(
  read: (key: string) => Promise<F>,
  keep: (key: string, result: ReadResult<F>) => void,
  max: number,
): Reads<F> {
  const under_way = new Map<string, Promise<ReadResult<F>>>()
  const coming = new Map<string, Promise<ReadResult<F>>>()
  let count = 0

  const begin = (key: string): Promise<ReadResult<F>> => {
    if (count >= max) return Promise.reject(new PublicError(2002))
    count += 1
    const started_ms = clock.monotonic_ms()
    const started_at_ms = clock.now_ms()
    // It serves everybody who waits, so the deadline of the request that came first does not bind it.
    const result = detached(() => read(key))
      .catch(asUnavailable)
      .then((found) => ({ found, started_ms, started_at_ms }))
      .finally(() => {
        count -= 1
      })
    under_way.set(key, result)
    const end = (done?: ReadResult<F>): void => {
      if (under_way.get(key) !== result) return
      under_way.delete(key)
      if (done) keep(key, done)
    }
    result.then(end, () => end())
    return result
  }

  const shared = (key: string): Promise<ReadResult<F>> => under_way.get(key) ?? begin(key)

  const pausedRead = async (
    key: string,
    last_started_ms: number,
    pace_ms: number,
  ): Promise<ReadResult<F>> => {
    await Promise.allSettled([under_way.get(key)])
    const delay_ms = last_started_ms + pace_ms - clock.monotonic_ms()
    if (delay_ms > 0) await sleep(delay_ms)
    coming.delete(key)
    return begin(key)
  }

  return {
    shared,
    fresh(key, last_started_ms, pace_ms) {
      const waiting = coming.get(key)
      if (waiting !== undefined) return waiting
      const next = pausedRead(key, last_started_ms, pace_ms)
      coming.set(key, next)
      return next
    },
    forget: (key) => void under_way.delete(key),
    forgetAll: () => under_way.clear(),
  }
}

/** A registry that cannot be read is, for whoever asked, a dependency that is down (E13). */
function asUnavailable(cause: unknown): never {
  throw new PublicError(2002, { cause })
}
