import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import type { Payment } from '../domain/payment.ts'
import { findByAnyId } from '../store/payments.ts'

/** Reads any payment by its `payment_id` or `h_id`, for the operator. Throws 6010 when there is none. */
export async function getPayment(payments: Collection<Payment>, id: string): Promise<Payment> {
  const payment = await findByAnyId(payments, id)
  if (!payment) throw new PublicError(6010)
  return payment
}
