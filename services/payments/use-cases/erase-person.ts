import type { Signer } from '#lib/base/crypto/signer.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { startDueWalk } from '#lib/patterns/due-walk.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { ErasureLog } from '#lib/patterns/erasures.ts'
import { personSubjects } from '#lib/patterns/person-hashes.ts'
import type { Collection } from '#lib/store/store.ts'
import { erasePayment, hasEnded } from '../domain/erase-payment.ts'
import { isAdmitted, type StoredPayment } from '../domain/payment.ts'
import { findByAnyId, findByPerson, keyOfPayment } from '../store/payments.ts'

/** What erasing a person needs. */
export interface ErasePersonDeps {
  readonly payments: Collection<StoredPayment>
  readonly runner: Pick<EffectRunner<StoredPayment>, 'update' | 'runEffects'>
  readonly erasures: ErasureLog
  /** The signer of the purpose `search`. */
  readonly search: Pick<Signer, 'signWithEach'>
}

/** A person of a merchant: of one payment, or of all payments with an e-mail address. */
export type ErasePersonRequest = { readonly merchant_id: string } & (
  | { readonly payment_id: string }
  | { readonly email: string }
)

/** How many payments one call erases. A repetition goes on. */
const ERASED_MAX = 1_000

/**
 * Destroys what identifies a person in payments, and by their effects in callbacks, tickets, refunds and chargebacks (O11). Throws
 * 6010 for a payment that the merchant does not have, and 8801, before anything is erased, while one of the payments is open. A
 * repetition erases what is left, which may be nothing.
 */
export async function erasePerson(
  deps: ErasePersonDeps,
  request: ErasePersonRequest,
): Promise<{ readonly payment_ids: readonly string[]; readonly has_more: boolean }> {
  const found = await findPayments(deps, request)
  const open = found.find((payment) => payment.erased_at === undefined && !hasEnded(payment))
  if (open) {
    const reason = `the payment ${open.payment_id}, its refunds and late lookups must end first`
    throw new PublicError(8801, { details: { description: 'payment_id', reason } })
  }
  const payment_ids: string[] = []
  for (const payment of found.slice(0, ERASED_MAX))
    if (await eraseEnded(deps, payment, 'request')) payment_ids.push(payment.payment_id)
  return { payment_ids, has_more: found.length > ERASED_MAX }
}

/**
 * The payments that a request names; of a person with more than can be erased at once, one more than that. Of a person they
 * include withdrawals that the ledger has not admitted yet, which are open.
 */
async function findPayments(deps: ErasePersonDeps, request: ErasePersonRequest): Promise<StoredPayment[]> {
  const { payments, search } = deps
  const { merchant_id } = request
  if ('payment_id' in request) {
    const payment = await findByAnyId(payments, request.payment_id)
    if (payment?.merchant_id !== merchant_id || !isAdmitted(payment)) throw new PublicError(6010)
    return [payment]
  }
  const found = new Map<string, StoredPayment>()
  const [subject = ''] = personSubjects({ email: request.email })
  for (const hash of search.signWithEach(subject)) {
    let after: StoredPayment | undefined
    do {
      const page: readonly StoredPayment[] = await findByPerson(payments, hash, merchant_id, after)
      for (const payment of page) found.set(payment.payment_id, payment)
      after = page.at(-1)
    } while (after !== undefined && found.size <= ERASED_MAX)
  }
  return [...found.values()]
}

/**
 * Erases a payment that has ended, and on request again what was written since it was erased. Returns whether it was not erased yet:
 * it may be open again, or erased, by now. The list outside the database
 * gets it first, so that a crash leaves no erasure that a restored backup would undo.
 */
export async function eraseEnded(
  { runner, erasures }: Pick<ErasePersonDeps, 'runner' | 'erasures'>,
  payment: StoredPayment,
  cause: 'request' | 'retention',
): Promise<boolean> {
  const { merchant_id, payment_id } = payment
  if (!hasEnded(payment)) return false
  await erasures.append({ kind: 'payment', merchant_id, id: payment_id })
  let is_erased = false
  const stored = await runner.update(keyOfPayment(payment), (current) => {
    is_erased = false
    if (current.payment_id !== payment_id || !hasEnded(current)) return
    if (current.erased_at !== undefined && cause === 'retention') return
    is_erased = current.erased_at === undefined
    return erasePayment(current, cause, now())
  })
  if (stored) await runner.runEffects(stored)
  return is_erased
}

const WALK_MS = 60_000

/**
 * Erases, once a minute, the payments that ended more than `retention_ms` ago, and those that an erasure waits for. `stop` waits for
 * the walk in progress.
 */
export function startRetentionWalk(
  deps: ErasePersonDeps & { readonly clock_guard: ClockGuard },
  retention_ms: number,
): { stop(): Promise<void> } {
  const { payments, clock_guard } = deps
  return startDueWalk(payments, 'by_erasable', {
    clock_guard,
    interval_ms: WALK_MS,
    failure: 'the persons of old payments could not be erased',
    rangeOf: () => ({ to: new Date(now().getTime() - retention_ms) }),
    async visit(payment) {
      await eraseEnded(deps, payment, payment.erase_when_ended ? 'request' : 'retention')
    },
  })
}
