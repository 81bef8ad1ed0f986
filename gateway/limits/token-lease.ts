import { withoutRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import { createLimitRefusal } from '../http/limit-refusal.ts'
import type { QuotaCounter } from '../store.ts'
import {
  acquireTokens,
  giveBackTokens,
  isCurrentWindow,
  isOpenWindow,
  type Quota,
  type TokenGrant,
} from './quota-counter.ts'

/** The tokens of one quota that this process holds, and the callers that wait for more. */
export type TokenLease = ReturnType<typeof createTokenLease>

/** What a token lease needs. */
interface TokenLeaseOptions {
  readonly counters: Collection<QuotaCounter>
  readonly quota: Quota
  /** The name of the quota in a refusal. */
  readonly bucket: string
  /** The time by which the window is judged. */
  readonly now_ms: () => number
}

type Waiter = PromiseWithResolvers<void>

const WAITERS_MAX = 5_000
/**
 * How long the store is not read again after it reported an exhausted quota or failed. Short, so that tokens that were
 * given back are usable soon; long enough that not every caller waits for a store that is down.
 */
const STORE_RETRY_MS = 1_000
/**
 * How long a failure of the store says something about now. In an outage some call reads it about every second, so an older
 * failure means that no call came: all callers then wait for the store together, as they do at first.
 */
const FAILURE_VALID_MS = 5_000

/** Makes a lease without tokens. It reads the store when a token is requested first. */
export function createTokenLease({ counters, quota, bucket, now_ms }: TokenLeaseOptions) {
  const held = createHeldTokens(quota, now_ms)
  let last_used_ms = 0
  let retry_store_at_ms = 0
  let failure_ends_at_ms = 0
  /** Whether an acquisition failed shortly before. While it did, only one caller at a time waits for the store. */
  let is_store_down = false
  let waiting: Waiter[] = []
  let serving: Promise<void> | undefined

  function exhaustedRefusal(): PublicError {
    const { limit, window_ms } = quota
    return createLimitRefusal({ bucket, limit, window_ms, retry_after_ms: held.windowEndMs() - now_ms() })
  }

  /** The refusal of a caller without a token; `undefined` when the store must be read first. */
  function refusalWithoutStore(): PublicError | undefined {
    const is_too_early = clock.monotonic_ms() < retry_store_at_ms
    if (serving === undefined && clock.monotonic_ms() >= failure_ends_at_ms) is_store_down = false
    if (is_store_down) return is_too_early || serving !== undefined ? new PublicError(2002) : undefined
    return is_too_early && held.isWindowCurrent() ? exhaustedRefusal() : undefined
  }

  /** Acquires tokens for all waiters at once; the first waiters are allowed, the others are refused. */
  async function acquireFor(waiters: readonly Waiter[]): Promise<void> {
    try {
      const grant = await acquireTokens(counters, quota, waiters.length, now_ms)
      const allowed = held.add(grant, waiters.length)
      retry_store_at_ms = grant.is_exhausted ? clock.monotonic_ms() + STORE_RETRY_MS : 0
      is_store_down = false
      for (const waiter of waiters.slice(0, allowed)) waiter.resolve()
      for (const waiter of waiters.slice(allowed)) waiter.reject(exhaustedRefusal())
    } catch (error) {
      // The tokens may be counted as used, but no caller got one: that allows fewer calls than the limit, never more.
      is_store_down = true
      retry_store_at_ms = clock.monotonic_ms() + STORE_RETRY_MS
      failure_ends_at_ms = clock.monotonic_ms() + FAILURE_VALID_MS
      const failure = toPublicError(error)
      for (const waiter of waiters) waiter.reject(failure)
    }
  }

  /** Serves waiters until none is left. Callers that come during an acquisition use its surplus, or the next one. */
  async function serve(): Promise<void> {
    while (waiting.length > 0) {
      await acquireFor(waiting.splice(0))
      waiting = waiting.filter((waiter) => {
        if (held.use()) waiter.resolve()
        else {
          const refusal = refusalWithoutStore()
          if (refusal === undefined) return true
          waiter.reject(refusal)
        }
        return false
      })
    }
    serving = undefined
  }

  return {
    /**
     * Acquires one token. Throws the quota's refusal when the quota is exhausted, and 2002 when the store is unavailable.
     * The 2002 has a cause only for callers that waited for the store; otherwise the log would repeat the cause per call.
     */
    async acquire(): Promise<void> {
      last_used_ms = clock.monotonic_ms()
      if (held.use()) return
      const refusal = refusalWithoutStore()
      if (refusal !== undefined) throw refusal
      if (waiting.length >= WAITERS_MAX)
        throw toPublicError(new Unavailable('too many calls wait for a quota'))
      const waiter = Promise.withResolvers<void>()
      waiting.push(waiter)
      serving ??= withoutRequest(serve)
      await waiter.promise
    },
    /** When a token was last requested, on the monotonic clock. */
    lastUsedMs: () => last_used_ms,
    /** The tokens that are held. Tokens of an ended window allow no call. */
    remaining: held.remaining,
    /**
     * Gives the unused tokens back to the counter, if their window is still open. It waits for acquisitions in progress
     * first; the lease stays usable. Throws `Unavailable`: then the tokens are held again, or lost after an `Ambiguous`.
     */
    async giveBackUnused(): Promise<void> {
      await serving
      await held.giveBackTo(counters)
    },
  }
}

/** Makes the holder of a quota's tokens, with none. All of them belong to one window, which is judged by `now_ms`. */
function createHeldTokens(quota: Quota, now_ms: () => number) {
  let tokens = 0
  let opened_at_ms = 0
  const isWindowCurrent = (): boolean => isCurrentWindow(quota, opened_at_ms, now_ms())
  return {
    /** Uses one token of the current window. False when there is none. */
    use(): boolean {
      if (tokens === 0 || !isWindowCurrent()) return false
      tokens -= 1
      return true
    },
    /** Adds a grant and uses its tokens for waiting callers. Returns how many of them are allowed. */
    add(grant: TokenGrant, callers: number): number {
      // Tokens of the same window may be held already: a `giveBackTo` that failed during the acquisition restored them.
      const available = grant.granted + (grant.opened_at_ms === opened_at_ms ? tokens : 0)
      opened_at_ms = grant.opened_at_ms
      tokens = Math.max(0, available - callers)
      return Math.min(available, callers)
    },
    remaining: () => tokens,
    isWindowCurrent,
    /** When the window of the tokens ends, in Unix milliseconds. */
    windowEndMs: () => opened_at_ms + quota.window_ms,
    /** As `giveBackUnused` of the lease, without waiting. */
    async giveBackTo(counters: Collection<QuotaCounter>): Promise<void> {
      const window_opened_ms = opened_at_ms
      if (tokens === 0 || !isOpenWindow(quota, window_opened_ms, now_ms())) return
      let taken = 0
      try {
        await giveBackTokens(counters, quota, window_opened_ms, () => {
          if (opened_at_ms !== window_opened_ms) return 0
          const unused = tokens
          tokens = 0
          taken += unused
          return unused
        })
      } catch (error) {
        if (isCertainlyUnwritten(error) && opened_at_ms === window_opened_ms) tokens += taken
        throw error
      }
    },
  }
}

/** Whether the failed write certainly changed nothing. After an unexpected fault that is not certain. */
function isCertainlyUnwritten(error: unknown): boolean {
  return error instanceof Unavailable && !(error instanceof Ambiguous)
}
