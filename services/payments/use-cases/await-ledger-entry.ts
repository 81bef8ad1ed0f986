import type { Collection } from '#lib/store/store.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'
import { awaitChange } from './await-change.ts'

/** An entry is posted within milliseconds. A merchant that waited for longer asks again. */
const WAIT_MS = 3_000

/**
 * Resolves when the ledger entry of the payment's status is posted: no callback may announce money before (P9). Throws
 * `Unavailable` when that takes too long; the sweeper posts it then.
 */
export async function awaitLedgerEntry(payments: Collection<StoredPayment>, payment: Payment): Promise<void> {
  const posting = payment.effects.filter(({ lane }) => lane === 'money').map(({ id }) => id)
  await awaitChange<StoredPayment | undefined>(payment, {
    hasHappened: (current) =>
      current !== undefined && !current.effects.some(({ id }) => posting.includes(id)),
    // An earlier document has no entry yet, which would look as if it were posted.
    read: () => payments.get(keyOfPayment(payment), { linearizable: true }),
    wait_ms: WAIT_MS,
    late: 'the ledger entry of the payment is not posted yet',
  })
}
