import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { findByAnyId, findByHId } from '../store/payments.ts'
import { type AdmissionDeps, awaitAdmission } from './await-admission.ts'

/** A merchant's payment, by exactly one of its public identifiers. */
export interface RefundedPaymentQuery {
  readonly merchant_id: string
  readonly environment: Environment
  readonly payment_c_id?: string
  readonly payment_h_id?: string
}

/**
 * Finds the payment of a requested refund by a linearizable read. Throws 10001 when the merchant has no such payment (S8).
 */
export async function findRefundablePayment(
  deps: AdmissionDeps,
  { merchant_id, environment, payment_c_id, payment_h_id }: RefundedPaymentQuery,
): Promise<Stored<Payment>> {
  const { payments } = deps
  const found =
    payment_c_id === undefined
      ? await findByHId(payments, merchant_id, environment, payment_h_id ?? '')
      : await payments.get({ merchant_id, environment, c_id: payment_c_id }, { linearizable: true })
  return admitted(deps, found)
}

/** Finds the payment of a chargeback by its `payment_id` or `h_id`. Throws 10001 when there is none. */
export async function findChargedPayment(deps: AdmissionDeps, id: string): Promise<Stored<Payment>> {
  return admitted(deps, await findByAnyId(deps.payments, id))
}

async function admitted(
  deps: AdmissionDeps,
  found: Stored<StoredPayment> | undefined,
): Promise<Stored<Payment>> {
  const payment = !found || isAdmitted(found) ? found : await awaitAdmission(deps, found)
  if (!payment) throw new PublicError(10001)
  return payment
}
