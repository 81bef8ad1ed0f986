import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { createRate } from '#lib/base/limit.ts'

const MINUTE_MS = 60_000
const KEYS_MAX = 10_000

/** Creates rates per minute and key, in this process alone. Beyond 10,000 keys the least recently used is forgotten. */
export function createRates(per_minute: number) {
  const rates = new LRUCache<string, ReturnType<typeof createRate>>(entriesUpTo(KEYS_MAX))
  return {
    /** The rate of a network, merchant or principal. */
    of(key: string): ReturnType<typeof createRate> {
      const existing = rates.get(key)
      if (existing !== undefined) return existing
      const fresh = createRate(per_minute, MINUTE_MS)
      rates.set(key, fresh)
      return fresh
    },
  }
}
