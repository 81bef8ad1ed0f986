import { dueEffects } from '#lib/patterns/effects/lease-due.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'
import { awaitChange } from './await-change.ts'

/** What waiting for an admission needs. */
export interface AdmissionDeps {
  readonly payments: Collection<StoredPayment>
  readonly runner: EffectRunner<StoredPayment>
}

/** The longest wait, also for a caller with more time. It exceeds the lease of the hold, so that a crash is bridged. */
const WAIT_MS = 10_000

/**
 * Returns a payment that was met, when it is admitted. A withdrawal that the ledger has not admitted is completed first, by
 * its process or, when that left it, by this one (P3). `undefined` when it was refused: it is as if it never existed.
 * Throws `Unavailable` when the ledger does not decide in time; the sweeper goes on.
 */
export async function awaitAdmission(
  { payments, runner }: AdmissionDeps,
  met: Stored<StoredPayment>,
): Promise<Stored<Payment> | undefined> {
  if (isAdmitted(met)) return met
  const completeAndRead = async (current: Stored<StoredPayment> | undefined) => {
    if (current) await completeIfLeft(runner, current)
    // A former primary may not know it, and would make an admitted withdrawal a refused one (P2).
    const found = await payments.get(keyOfPayment(met), { linearizable: true })
    return found?.payment_id === met.payment_id ? found : undefined
  }
  const decided = await awaitChange(await completeAndRead(met), {
    hasHappened: (current) => !current || isAdmitted(current),
    read: completeAndRead,
    wait_ms: WAIT_MS,
    late: 'the ledger has not decided about the withdrawal yet',
  })
  return decided && isAdmitted(decided) ? decided : undefined
}

/**
 * Leases and runs the effects of a withdrawal that no process has leased, in the background: the caller waits for the ledger,
 * but not for the provider that comes after it.
 */
async function completeIfLeft(
  runner: EffectRunner<StoredPayment>,
  withdrawal: Stored<StoredPayment>,
): Promise<void> {
  const isLeft = (current: StoredPayment): boolean =>
    current.payment_id === withdrawal.payment_id &&
    !isAdmitted(current) &&
    dueEffects(current, now()).length > 0
  if (!isLeft(withdrawal)) return
  // The write of the unchanged document leases what is due.
  const leased = await runner.update(
    keyOfPayment(withdrawal),
    (current) => (isLeft(current) ? current : undefined),
    withdrawal,
  )
  if (leased) runner.runEffectsInBackground(leased)
}
