import { Code } from '@connectrpc/connect'
import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { networkOf } from '#lib/http/network-of.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { createRates } from './rates.ts'

/** How many unknown tokens a network may try per minute in each process (O22). */
const WRONG_PER_MINUTE = 120
const KNOWN_MAX = 10_000

/** Limits how often the store is asked for tokens that do not count. */
export type WrongTokens = ReturnType<typeof createWrongTokens>

/**
 * Creates the limit of wrong tokens per network. Tokens that counted in this process before are never refused by it, so that nobody
 * on the same network keeps another from working.
 */
export function createWrongTokens() {
  const known = new LRUCache<string, true>(entriesUpTo(KNOWN_MAX))
  const rates = createRates(WRONG_PER_MINUTE)
  return {
    /** Finds what belongs to a token by asking the store. Throws RESOURCE_EXHAUSTED instead where its network tried too many. */
    async ask<T>(sha256: string, address: string | undefined, find: () => Promise<T | undefined>) {
      if (known.has(sha256)) return find()
      const rate = rates.of(networkOf(address))
      if (!rate.hasRoom())
        throw new RpcStatusError(
          Code.ResourceExhausted,
          'too many calls with wrong tokens came from this address; try again in a minute',
        )
      const found = await find()
      if (found === undefined) rate.use()
      else known.set(sha256, true)
      return found
    },
  }
}
