import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createSemaphore, type SemaphoreLimits } from '#lib/patterns/semaphore.ts'
import { withoutRequest } from '#lib/platform/context.ts'
import { clock, sleep } from '#lib/platform/time.ts'

/** What a read gave, and when it began: it may be as old as that. */
export interface ReadResult<F> {
  readonly value: F
  /** On the monotonic clock. */
  readonly started_ms: number
  /** On the wall clock. */
  readonly started_at_ms: number
}

/** Reads by key, at most one under way for each. All of them throw `PublicError` 2002 when there is no answer. */
export interface SharedReads<F> {
  /** The read that is under way, or a new one. */
  shared(key: string): Promise<ReadResult<F>>
  /** A read that begins after this call, and `pace_ms` after the last one began; all who ask until then share it. */
  fresh(key: string, last_started_ms: number, pace_ms: number): Promise<ReadResult<F>>
  /**
   * Makes the read under way answer only those who already wait for it: its result is not kept, nor joined. One that
   * waits for its turn goes on as if nothing were: it will see what changed.
   */
  forget(key: string): void
  forgetAll(): void
}

interface UnderWay<F> {
  readonly result: Promise<ReadResult<F>>
  begun: boolean
}

/**
 * Makes reads. `keep` is given each result, unless the key was forgotten while it was read: a change came between, and
 * nobody can tell which side of it the read saw.
 */
export function createSharedReads<F>(
  read: (key: string) => Promise<F>,
  keep: (key: string, result: ReadResult<F>) => void,
  limits: SemaphoreLimits,
): SharedReads<F> {
  const under_way = new Map<string, UnderWay<F>>()
  const coming = new Map<string, Promise<ReadResult<F>>>()
  const turns = createSemaphore(limits)

  const readInTurn = async (key: string, turn: Promise<void> | undefined): Promise<ReadResult<F>> => {
    if (turn !== undefined) await turn
    const started_ms = clock.monotonic_ms()
    const started_at_ms = clock.now_ms()
    try {
      // It serves everybody who waits, so the deadline of the request that came first does not bind it.
      const found = await withoutRequest(() => read(key))
      return { value: found, started_ms, started_at_ms }
    } catch (cause) {
      // A registry that cannot be read is, for whoever asked, a dependency that is down (E13).
      throw new PublicError(2002, { cause })
    } finally {
      turns.release()
    }
  }

  const begin = (key: string): Promise<ReadResult<F>> => {
    const turn = turns.acquire()
    const coming_turn = turn?.then(() => {
      one.begun = true
    })
    const one: UnderWay<F> = { result: readInTurn(key, coming_turn), begun: turn === undefined }
    under_way.set(key, one)
    const end = (done?: ReadResult<F>): void => {
      if (under_way.get(key) !== one) return
      under_way.delete(key)
      if (done) keep(key, done)
    }
    one.result.then(end, () => end())
    return one.result
  }

  const forget = (key: string): void => {
    if (under_way.get(key)?.begun === true) under_way.delete(key)
  }

  const shared = (key: string): Promise<ReadResult<F>> => under_way.get(key)?.result ?? begin(key)

  const pausedRead = async (
    key: string,
    last_started_ms: number,
    pace_ms: number,
  ): Promise<ReadResult<F>> => {
    await Promise.allSettled([under_way.get(key)?.result])
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
    forget,
    forgetAll() {
      for (const key of under_way.keys()) forget(key)
    },
  }
}
