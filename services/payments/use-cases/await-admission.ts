import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { dueEffects } from '#lib/patterns/effects/lease-due.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Stored } from '#lib/platform/store/store.ts'
import { clock, now, sleep } from '#lib/platform/time.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'
import { waitUntilMs } from './wait-limit.ts'

/** What waiting for an admission needs. */
export interface AdmissionDeps {
  readonly payments: Collection<StoredPayment>
  readonly runner: EffectRunner<StoredPayment>
}

/** The longest wait, also for a caller with more time. It exceeds the lease of the hold, so that a crash is bridged. */
const WAIT_MS = 10_000
/** From about the time of a hold to a pause that costs little. */
const PAUSE = { first_ms: 2, max_ms: 100 }

/**
 * Returns a payment that was met, when it is admitted. A withdrawal that the ledger has not admitted is completed first, by
 * its process or, when that left it, by this one (P3). `undefined` when it was refused: it is as if it never existed.
 * Throws `Unavailable` when the ledger does not decide in time; the sweeper goes on.
 */
export async function awaitAdmission(
  { payments, runner }: AdmissionDeps,
  met: Stored<StoredPayment>,
): Promise<Stored<Payment> | undefined> {
  const until_ms = waitUntilMs(WAIT_MS)
  let current: Stored<StoredPayment> | undefined = met
  for (let reads = 1; current?.payment_id === met.payment_id; reads += 1) {
    if (isAdmitted(current)) return current
    if (clock.monotonic_ms() >= until_ms)
      throw new Unavailable('the ledger has not decided about the withdrawal yet')
    if (reads > 1) await sleep(backoffDelay(reads, PAUSE, randomFraction()))
    await completeIfLeft(runner, current)
    current = await payments.get(keyOfPayment(current))
  }
  return undefined
}

/** Leases and runs the effects of a withdrawal that no process has leased. */
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
  if (leased) await runner.runEffects(leased)
}
