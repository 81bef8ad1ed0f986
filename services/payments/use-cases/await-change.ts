import { backoffDelay } from '#lib/base/backoff.ts'
import { currentRequest } from '#lib/base/context.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, now, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { dueEffects } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { isAdmitted, type Payment, type RefusedWithdrawal, type StoredPayment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'

/** Kept of the caller's deadline, so that it gets the answer of this process. */
const ANSWER_MS = 200
/** From about the time of a ledger command to a pause that costs little. */
const PAUSE = { first_ms: 2, max_ms: 100 }

/** What a request waits for. */
interface AwaitedChange<Document> {
  /** Whether the change has happened. */
  readonly hasHappened: (document: Document) => boolean
  /** Reads the document again. */
  readonly read: (document: Document) => Promise<Document>
  /** The longest wait, also for a caller with more time. */
  readonly wait_ms: number
  /** What has not happened in time, for the message of `Unavailable`. */
  readonly late: string
}

/**
 * Reads a document again, at growing intervals, until another effect or process has changed it, and returns it. Throws
 * `Unavailable` when the wait or the caller's deadline ends before.
 */
export async function awaitChange<Document>(
  document: Document,
  { hasHappened, read, wait_ms, late }: AwaitedChange<Document>,
): Promise<Document> {
  const deadline_ms = currentRequest()?.deadline_ms ?? Number.POSITIVE_INFINITY
  const until_ms = Math.min(clock.monotonic_ms() + wait_ms, deadline_ms - ANSWER_MS)
  let current = document
  for (let reads = 1; !hasHappened(current); reads += 1) {
    if (clock.monotonic_ms() >= until_ms) throw new Unavailable(late)
    await sleep(backoffDelay(reads, PAUSE, randomFraction()))
    current = await read(current)
  }
  return current
}

/** What waiting for an admission needs. */
export interface AdmissionDeps {
  readonly payments: Collection<StoredPayment>
  readonly runner: EffectRunner<StoredPayment>
}

/** The longest wait, also for a caller with more time. It exceeds the lease of the hold, so that a crash is bridged. */
const WAIT_MS = 10_000

/** The payment that a request has found, as by `awaitDecision`; `undefined` when it was refused: it never existed (P3). */
export async function awaitAdmission(
  deps: AdmissionDeps,
  found: Stored<StoredPayment>,
): Promise<Stored<Payment> | undefined> {
  const decided = await awaitDecision(deps, found)
  return decided && isAdmitted(decided) ? decided : undefined
}

/**
 * Returns the payment that a request has found, once it is admitted or refused. While the ledger has not decided about a
 * withdrawal, this waits for the process that has leased its effect, or runs that effect here when no process has it (P3).
 * `undefined` when it is gone: it was refused. Throws `Unavailable` when the ledger does not decide in time; the sweeper goes on.
 */
export async function awaitDecision(
  { payments, runner }: AdmissionDeps,
  found: Stored<StoredPayment>,
): Promise<Stored<Payment | RefusedWithdrawal> | undefined> {
  if (isAdmitted(found)) return found
  const completeAndRead = async (current: Stored<StoredPayment> | undefined) => {
    if (current) await completeIfAbandoned(runner, current)
    // Linearizable, because a missing withdrawal counts as refused, and a former primary may miss one that exists (P2).
    const stored = await payments.get(keyOfPayment(found), { linearizable: true })
    return stored?.payment_id === found.payment_id ? stored : undefined
  }
  const decided = await awaitChange(await completeAndRead(found), {
    hasHappened: (current) => current?.status !== 'reserving',
    read: completeAndRead,
    wait_ms: WAIT_MS,
    late: 'the ledger has not decided about the withdrawal yet',
  })
  return decided && isDecided(decided) ? decided : undefined
}

function isDecided(stored: Stored<StoredPayment>): stored is Stored<Payment | RefusedWithdrawal> {
  return stored.status !== 'reserving'
}

/**
 * Leases and runs the effects of a withdrawal that no process has leased, in the background: the caller waits for the
 * ledger, but not for the provider that comes after it.
 */
async function completeIfAbandoned(
  runner: EffectRunner<StoredPayment>,
  withdrawal: Stored<StoredPayment>,
): Promise<void> {
  const isAbandoned = (current: StoredPayment): boolean =>
    current.payment_id === withdrawal.payment_id &&
    current.status === 'reserving' &&
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

/** An entry is posted within milliseconds. A merchant that waited for longer asks again. */
const ENTRY_WAIT_MS = 3_000

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
    wait_ms: ENTRY_WAIT_MS,
    late: 'the ledger entry of the payment is not posted yet',
  })
}
