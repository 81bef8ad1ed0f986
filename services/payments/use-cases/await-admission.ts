import { now } from '#lib/base/time.ts'
import { dueEffects } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
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
 * Returns the payment that a request has found, once it is admitted. While the ledger has not decided about a withdrawal,
 * this waits for the process that has leased its effect, or runs that effect here when no process has it (P3). `undefined`
 * when the withdrawal was refused: for the caller it never existed. Throws `Unavailable` when the ledger does not decide in
 * time; the sweeper goes on.
 */
export async function awaitAdmission(
  { payments, runner }: AdmissionDeps,
  found: Stored<StoredPayment>,
): Promise<Stored<Payment> | undefined> {
  if (isAdmitted(found)) return found
  const completeAndRead = async (current: Stored<StoredPayment> | undefined) => {
    if (current) await completeIfAbandoned(runner, current)
    // Linearizable, because a missing withdrawal counts as refused, and a former primary may miss one that exists (P2).
    const stored = await payments.get(keyOfPayment(found), { linearizable: true })
    return stored?.payment_id === found.payment_id ? stored : undefined
  }
  const decided = await awaitChange(await completeAndRead(found), {
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
async function completeIfAbandoned(
  runner: EffectRunner<StoredPayment>,
  withdrawal: Stored<StoredPayment>,
): Promise<void> {
  const isAbandoned = (current: StoredPayment): boolean =>
    current.payment_id === withdrawal.payment_id &&
    !isAdmitted(current) &&
    dueEffects(current, now()).length > 0
  if (!isAbandoned(withdrawal)) return
  // The write of the unchanged document leases what is due.
  const leased = await runner.update(
    keyOfPayment(withdrawal),
    (current) => (isAbandoned(current) ? current : undefined),
    withdrawal,
  )
  if (leased) runner.runEffectsInBackground(leased)
}
