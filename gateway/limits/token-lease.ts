import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { withoutRequest } from '#lib/platform/context.ts'
import { publicErrorOf } from '#lib/platform/rpc/translate-errors.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { clock } from '#lib/platform/time.ts'
import type { QuotaCounter } from '../store.ts'
import { acquireTokens, isCurrentWindow, isOpenWindow, type Quota, returnTokens } from './quota-counter.ts'
import { createLimitRefusal } from './refusal.ts'

/** What this process holds of one quota, and who waits for more of it. */
export interface TokenLease {
  /**
   * Takes one call. Throws the quota's refusal when it is used up, and 2002 when the store cannot say: with the cause
   * to those who waited for it, without one while it is not asked, or the log would have it for every call.
   */
  acquire(): Promise<void>
  /** When somebody asked it last, on the monotonic clock. */
  lastUsedMs(): number
  /** How many calls it can admit without asking the store, unless their window has ended. */
  remaining(): number
  /**
   * Puts back what is left in a window that is still open, after the takes under way; it can be used on. Throws
   * `Unavailable`: then what was left is here again, or lost if the write of it was `Ambiguous`.
   */
  returnUnused(): Promise<void>
}

/** What makes a lease. */
export interface TokenLeaseOptions {
  readonly counters: Collection<QuotaCounter>
  readonly quota: Quota
  /** What the quota is called by in a refusal. */
  readonly bucket: string
}

type Waiter = PromiseWithResolvers<void>

const WAITERS_MAX = 5_000
/**
 * So long the store is not asked again after it said that nothing is left, or failed to say anything. What others give
 * back can be used soon, and callers do not all wait for a store that is away.
 */
const STORE_RETRY_MS = 1_000

/** Makes an empty lease; it costs nothing until somebody takes from it. */
export function createTokenLease({ counters, quota, bucket }: TokenLeaseOptions): TokenLease {
  let tokens = 0
  let opened_at_ms = 0
  let used_at_ms = 0
  let rests_until_ms = 0
  /** Set from a take that failed until one that does not; until then only one call at a time waits for the store. */
  let failed = false
  let waiting: Waiter[] = []
  let serving: Promise<void> | undefined

  function refusal(): PublicError {
    const { limit, window_ms } = quota
    return createLimitRefusal({
      bucket,
      limit,
      window_ms,
      retry_after_ms: opened_at_ms + window_ms - clock.now_ms(),
    })
  }

  /** Takes one of the tokens that are here. */
  function takeHere(): boolean {
    if (tokens === 0 || !isCurrentWindow(quota, opened_at_ms, clock.now_ms())) return false
    tokens -= 1
    return true
  }

  /** What a call without a token is refused with; `undefined` when the store has to be asked. */
  function refusalHere(): PublicError | undefined {
    const rests = clock.monotonic_ms() < rests_until_ms
    if (failed) return rests || serving !== undefined ? new PublicError(2002) : undefined
    return rests && isCurrentWindow(quota, opened_at_ms, clock.now_ms()) ? refusal() : undefined
  }

  /** One take for all of them: the first get what it grants, the others learn that there is no more. */
  async function takeFor(waiters: readonly Waiter[]): Promise<void> {
    try {
      const taken = await acquireTokens(counters, quota, waiters.length)
      // A give-back that failed meanwhile may have left some here.
      const granted = taken.granted + (taken.opened_at_ms === opened_at_ms ? tokens : 0)
      opened_at_ms = taken.opened_at_ms
      tokens = Math.max(0, granted - waiters.length)
      rests_until_ms = taken.exhausted ? clock.monotonic_ms() + STORE_RETRY_MS : 0
      failed = false
      for (const waiter of waiters.slice(0, granted)) waiter.resolve()
      for (const waiter of waiters.slice(granted)) waiter.reject(refusal())
    } catch (error) {
      // Whatever was written, nobody was granted it: that admits fewer than the limit, never more.
      failed = true
      rests_until_ms = clock.monotonic_ms() + STORE_RETRY_MS
      const failure = publicErrorOf(error)
      for (const waiter of waiters) waiter.reject(failure)
    }
  }

  /** Those who come during a take are served from what it brought, or by the next one. */
  async function serve(): Promise<void> {
    while (waiting.length > 0) {
      await takeFor(waiting.splice(0))
      waiting = waiting.filter((waiter) => {
        if (takeHere()) waiter.resolve()
        else {
          const refused = refusalHere()
          if (refused === undefined) return true
          waiter.reject(refused)
        }
        return false
      })
    }
    serving = undefined
  }

  return {
    async acquire() {
      used_at_ms = clock.monotonic_ms()
      if (takeHere()) return
      const refused = refusalHere()
      if (refused !== undefined) throw refused
      if (waiting.length >= WAITERS_MAX)
        throw publicErrorOf(new Unavailable('too many calls wait for a quota'))
      const waiter = Promise.withResolvers<void>()
      waiting.push(waiter)
      serving ??= withoutRequest(serve)
      await waiter.promise
    },
    lastUsedMs: () => used_at_ms,
    remaining: () => tokens,
    async returnUnused() {
      await serving
      const window = opened_at_ms
      if (tokens === 0 || !isOpenWindow(quota, window, clock.now_ms())) return
      let withdrawn = 0
      try {
        await returnTokens(counters, quota, window, () => {
          if (opened_at_ms !== window) return 0
          const left = tokens
          tokens = 0
          withdrawn += left
          return left
        })
      } catch (error) {
        if (isCertainlyUnwritten(error) && opened_at_ms === window) tokens += withdrawn
        throw error
      }
    },
  }
}

/** Whether it is certain that what failed was not written. After a fault that nobody thought of it is not. */
function isCertainlyUnwritten(error: unknown): boolean {
  return error instanceof Unavailable && !(error instanceof Ambiguous)
}
