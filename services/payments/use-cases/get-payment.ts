import { PublicError } from '#lib/contract/errors/public-error.ts'
import { isAdmitted, type Payment } from '../domain/payment.ts'
import { findByAnyId } from '../store/payments.ts'
import { type AdmissionDeps, awaitAdmission } from './await-admission.ts'

/**
 * Reads any payment by its `payment_id` or `h_id`, for the operator. Throws 6010 when there is none, and `Unavailable`
 * when the ledger does not decide in time about a withdrawal that is being created.
 */
export async function getPayment(deps: AdmissionDeps, id: string): Promise<Payment> {
  const found = await findByAnyId(deps.payments, id)
  const payment = !found || isAdmitted(found) ? found : await awaitAdmission(deps, found)
  if (!payment) throw new PublicError(6010)
  return payment
}
