import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { Ambiguous, Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { clock, withTimeout } from '#lib/platform/time.ts'
import type { UsedNonce } from '../store.ts'

/**
 * What became of a nonce. `unsure`: the store is down, or its answer was lost, and nobody can tell whether the nonce was
 * spent now, before, or not at all.
 */
export type NonceResult = 'consumed' | 'reused' | 'unknown'

/** Sees to it that an application uses a nonce once, whichever gateway it asks (A3). */
export interface NonceStore {
  /** Spends a nonce of an application. */
  consume(application_id: string, nonce: string): Promise<NonceResult>
}

/** Short: a store that lost an answer has taken its time already. */
const READ_BACK_MS = 1_000

/**
 * Makes the nonces. `ttl_ms` has to be at least twice the window of freshness, because a timestamp may lie as
 * far ahead as behind, and on top of it what the clocks of the gateways differ by.
 */
export function createNonceStore(
  nonces: Collection<UsedNonce>,
  { ttl_ms }: { readonly ttl_ms: number },
): NonceStore {
  /** Whose nonce it is, when the answer to the insert of `attempt` was lost. One that is not there may yet come. */
  async function readBack(application_id: string, nonce: string, attempt: string): Promise<NonceResult> {
    try {
      const there = await withTimeout(nonces.get({ application_id, nonce }), READ_BACK_MS)
      if (there === undefined) return 'unknown'
      return there.consumer_id === attempt ? 'consumed' : 'reused'
    } catch (error) {
      if (error instanceof Unavailable) return 'unknown'
      throw error
    }
  }

  return {
    async consume(application_id, nonce) {
      const attempt = randomHex(8)
      try {
        const expires_at = new Date(clock.now_ms() + ttl_ms)
        await nonces.insert({ application_id, nonce, consumer_id: attempt, expires_at })
        return 'consumed'
      } catch (error) {
        if (error instanceof Duplicate) return 'reused'
        if (error instanceof Ambiguous) return readBack(application_id, nonce, attempt)
        if (error instanceof Unavailable) return 'unknown'
        throw error
      }
    },
  }
}
