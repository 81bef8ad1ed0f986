import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { clock, sleep } from '#lib/platform/time.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'
import { waitUntilMs } from './wait-limit.ts'

/** An entry is posted within milliseconds. A merchant that waited for longer asks again. */
const WAIT_MS = 3_000
const PAUSE = { first_ms: 2, max_ms: 100 }

/**
 * Resolves when the ledger entry of the payment's status is posted: no callback may announce money before (P9). Throws
 * `Unavailable` when that takes too long; the sweeper posts it then.
 */
export async function awaitLedgerEntry(payments: Collection<StoredPayment>, payment: Payment): Promise<void> {
  const until_ms = waitUntilMs(WAIT_MS)
  const posting = payment.effects.filter(({ lane }) => lane === 'money').map(({ id }) => id)
  let waiting = posting.length > 0
  for (let reads = 1; waiting; reads += 1) {
    if (clock.monotonic_ms() >= until_ms)
      throw new Unavailable('the ledger entry of the payment is not posted yet')
    await sleep(backoffDelay(reads, PAUSE, randomFraction()))
    const current = await payments.get(keyOfPayment(payment))
    waiting = current?.effects.some(({ id }) => posting.includes(id)) ?? false
  }
}
