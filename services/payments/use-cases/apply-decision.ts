import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Stored } from '#lib/store/store.ts'
import type { RefundDecision } from '../domain/decide-refund.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'

/**
 * Applies a decision about a refund or a chargeback to its payment in one guarded write. Throws its refusal, after the refusal
 * is stored.
 */
export async function applyDecision(
  runner: Pick<EffectRunner<StoredPayment>, 'update'>,
  found: Stored<Payment>,
  decide: (current: Payment) => RefundDecision,
): Promise<Stored<Payment>> {
  let refused_code: RefundDecision['refused_code']
  const stored = await runner.update(
    keyOfPayment(found),
    (current) => {
      const payment = requireAdmitted(current)
      const decided = decide(payment)
      refused_code = decided.refused_code
      return decided.payment === payment ? undefined : decided.payment
    },
    found,
  )
  if (!stored) throw new Error(`the payment ${found.payment_id} is gone`)
  if (refused_code !== undefined) throw new PublicError(refused_code)
  return requireAdmitted(stored)
}
