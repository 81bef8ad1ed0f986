import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { createRate } from '#lib/base/limit.ts'
import { networkOf } from '#lib/http/network-of.ts'

const MINUTE_MS = 60_000
const NETWORKS_MAX = 10_000

/** Creates rates per minute and network, in this process alone. Beyond 10,000 networks the least recently seen is forgotten. */
export function createNetworkRates(per_minute: number) {
  const rates = new LRUCache<string, ReturnType<typeof createRate>>(entriesUpTo(NETWORKS_MAX))
  return {
    /** The rate of the network of an IP address. */
    of(address: string | undefined): ReturnType<typeof createRate> {
      const network = networkOf(address)
      const existing = rates.get(network)
      if (existing !== undefined) return existing
      const fresh = createRate(per_minute, MINUTE_MS)
      rates.set(network, fresh)
      return fresh
    },
  }
}
