import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock } from '#lib/base/time.ts'
import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { networkOf } from '#lib/http/network-of.ts'
import { createLimitRefusal, FLOOD_BUCKET } from '../http/limit-refusal.ts'

/** Limits failed authentications per network (an IPv4 address or an IPv6 /48). */
export type FloodLimiter = ReturnType<typeof createFloodLimiter>

const MINUTE_MS = 60_000

interface TokenBucket {
  tokens: number
  filled_at_ms: number
}

/**
 * Makes a flood limiter for this process alone: a token bucket per network, refilled when it is read. Beyond `networks_max`
 * the least recently active network is forgotten.
 */
export function createFloodLimiter({
  failures_per_minute: limit,
  networks_max = 10_000,
}: {
  readonly failures_per_minute: number
  readonly networks_max?: number
}) {
  const buckets = new LRUCache<string, TokenBucket>(entriesUpTo(networks_max))
  const token_ms = MINUTE_MS / limit

  function refilledBucket(network: string): TokenBucket {
    const now_ms = clock.monotonic_ms()
    const existing = buckets.get(network)
    if (existing !== undefined) {
      existing.tokens = Math.min(limit, existing.tokens + (now_ms - existing.filled_at_ms) / token_ms)
      existing.filled_at_ms = now_ms
      return existing
    }
    const fresh = { tokens: limit, filled_at_ms: now_ms }
    buckets.set(network, fresh)
    return fresh
  }

  return {
    /**
     * Counts a failed authentication for the network of an address; returns the 429 to respond with beyond the limit.
     * WARNING: call it only after an authentication has failed. An authenticated caller is then never refused, even if
     * others on its network fail, or misuse its application id.
     */
    recordFailure(address: string | undefined): PublicError | undefined {
      const bucket = refilledBucket(networkOf(address))
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1
        return undefined
      }
      const retry_after_ms = (1 - bucket.tokens) * token_ms
      return createLimitRefusal({ bucket: FLOOD_BUCKET, limit, window_ms: MINUTE_MS, retry_after_ms })
    },
  }
}
