import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { createLru } from '#lib/patterns/lru.ts'
import { clock } from '#lib/platform/time.ts'
import { networkOf } from '../hostile-connections/network.ts'
import { createLimitRefusal, FLOOD_BUCKET } from './refusal.ts'

/**
 * Answers those who flood the gateway with proofs that fail. WARNING: ask it only after a proof has failed, and for
 * nothing else. Then a good caller is never refused by it, whoever shares its address or abuses its application id.
 */
export interface FloodLimiter {
  /** Counts a failed proof from this address; answers the 429 to throw instead when there were too many. */
  recordFailure(address: string | undefined): PublicError | undefined
}

/** What makes a flood limiter. */
export interface FloodOptions {
  /** How many proofs may fail in a minute from one address, or from one /48 of IPv6. */
  readonly failures_per_minute: number
  /** How many addresses are remembered; the one that was quiet for longest is forgotten first. */
  readonly addresses_max?: number
}

const MINUTE_MS = 60_000
const ADDRESSES_MAX = 10_000

interface Allowance {
  tokens: number
  filled_at_ms: number
}

/** Makes a flood limiter of this process alone. An allowance refills with time, when it is next asked for. */
export function createFloodLimiter(options: FloodOptions): FloodLimiter {
  const { failures_per_minute: limit, addresses_max = ADDRESSES_MAX } = options
  const allowances = createLru<Allowance>(addresses_max)
  const token_ms = MINUTE_MS / limit

  function allowanceOf(network: string): Allowance {
    const now_ms = clock.monotonic_ms()
    const known = allowances.get(network)
    if (known !== undefined) {
      known.tokens = Math.min(limit, known.tokens + (now_ms - known.filled_at_ms) / token_ms)
      known.filled_at_ms = now_ms
      return known
    }
    const fresh = { tokens: limit, filled_at_ms: now_ms }
    allowances.set(network, fresh)
    return fresh
  }

  return {
    recordFailure(address) {
      const allowance = allowanceOf(networkOf(address))
      if (allowance.tokens >= 1) {
        allowance.tokens -= 1
        return undefined
      }
      const retry_after_ms = (1 - allowance.tokens) * token_ms
      return createLimitRefusal({ bucket: FLOOD_BUCKET, limit, window_ms: MINUTE_MS, retry_after_ms })
    },
  }
}
