import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { findByAnyId, keyOfPayment } from '../store/payments.ts'
import type { AdmissionDeps } from './await-change.ts'

/**
 * Runs a stuck effect again, that of a withdrawal which the ledger has not admitted too. Throws 6010 for an unknown
 * payment, and 8801 when it has no such stuck effect, also when another caller has retried it at the same time.
 */
export async function retryEffect(
  { payments, runner }: AdmissionDeps,
  payment_id: string,
  effect_id: string,
): Promise<StoredPayment> {
  const payment = await findByAnyId(payments, payment_id)
  if (!payment) throw new PublicError(6010)
  const retried = await runner.retry(keyOfPayment(payment), effect_id)
  if (!retried) throw new PublicError(8801)
  // A withdrawal that the ledger then refuses is deleted, and another payment may have its c_id by now.
  return retried.payment_id === payment.payment_id ? retried : payment
}
