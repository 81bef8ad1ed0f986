import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import type { QuotaCounter } from '../store.ts'
import {
  giveBackTokens,
  isCurrentWindow,
  isOpenWindow,
  type Quota,
  type TokenGrant,
} from './quota-counter.ts'

/** The tokens of one quota that this process holds. All of them belong to one window. */
export interface HeldTokens {
  /** Uses one token of the current window. False when there is none. */
  use(): boolean
  /** Adds a grant and uses its tokens for waiting callers. Returns how many of them are admitted. */
  add(grant: TokenGrant, callers: number): number
  /** The tokens that are held. Tokens of an ended window admit no call. */
  remaining(): number
  isWindowCurrent(): boolean
  /** When the window of the tokens ends, in Unix milliseconds. */
  windowEndMs(): number
  /**
   * Gives the unused tokens back to the counter, if their window is still open. Throws `Unavailable`: then the tokens are
   * held again, or lost after an `Ambiguous`.
   */
  giveBackTo(counters: Collection<QuotaCounter>): Promise<void>
}

/** Makes the holder of a quota's tokens, with none. Windows are judged by `now_ms`. */
export function createHeldTokens(quota: Quota, now_ms: () => number): HeldTokens {
  let tokens = 0
  let opened_at_ms = 0
  const isWindowCurrent = (): boolean => isCurrentWindow(quota, opened_at_ms, now_ms())
  return {
    use() {
      if (tokens === 0 || !isWindowCurrent()) return false
      tokens -= 1
      return true
    },
    add(grant, callers) {
      // Tokens of the same window may be held already: a `giveBackTo` that failed during the acquisition restored them.
      const available = grant.granted + (grant.opened_at_ms === opened_at_ms ? tokens : 0)
      opened_at_ms = grant.opened_at_ms
      tokens = Math.max(0, available - callers)
      return Math.min(available, callers)
    },
    remaining: () => tokens,
    isWindowCurrent,
    windowEndMs: () => opened_at_ms + quota.window_ms,
    async giveBackTo(counters) {
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
