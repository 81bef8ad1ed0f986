import { randomHex } from '#lib/base/crypto/random.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous, Duplicate } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import type { UsedNonce } from '../store.ts'

/**
 * The result of consuming a nonce: `consumed` by this call, `reused` if an earlier call consumed it, or `unknown` if the
 * store is down or its response was lost.
 */
export type NonceResult = 'consumed' | 'reused' | 'unknown'

/** Lets an application use each nonce once, across all gateways on one store (A3). */
export type NonceStore = ReturnType<typeof createNonceStore>

/** Short, because a write whose response was lost has already used most of the caller's time. */
const READ_BACK_TIMEOUT_MS = 1_000

/**
 * Makes the nonce store. `ttl_ms` must be at least twice the freshness window, because a timestamp may be in the future as
 * well as in the past, plus the clock skew between gateways: see `nonceTtlMs`. A nonce is stored from `now_ms` on, by
 * default the clock of this process.
 */
export function createNonceStore(
  nonces: Collection<UsedNonce>,
  { ttl_ms, now_ms = () => clock.now_ms() }: { readonly ttl_ms: number; readonly now_ms?: () => number },
) {
  /**
   * Decides after the response to the insert of `consumer_id` was lost. A nonce that is absent is `unknown`, because the
   * insert may still arrive.
   */
  async function readBack(application_id: string, nonce: string, consumer_id: string): Promise<NonceResult> {
    try {
      const used = await withTimeout(nonces.get({ application_id, nonce }), READ_BACK_TIMEOUT_MS)
      if (used === undefined) return 'unknown'
      return used.consumer_id === consumer_id ? 'consumed' : 'reused'
    } catch (error) {
      if (error instanceof Unavailable) return 'unknown'
      throw error
    }
  }

  return {
    async consume(application_id: string, nonce: string): Promise<NonceResult> {
      const consumer_id = randomHex(8)
      try {
        const expires_at = new Date(now_ms() + ttl_ms)
        await nonces.insert({ application_id, nonce, consumer_id, expires_at })
        return 'consumed'
      } catch (error) {
        if (error instanceof Duplicate) return 'reused'
        if (error instanceof Ambiguous) return readBack(application_id, nonce, consumer_id)
        if (error instanceof Unavailable) return 'unknown'
        throw error
      }
    },
  }
}
