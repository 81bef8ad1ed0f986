import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { Stored } from '#lib/store/store.ts'
import { isAdmitted, type Payment } from '../domain/payment.ts'
import { findByHId } from '../store/payments.ts'
import { type AdmissionDeps, awaitAdmission } from './await-admission.ts'

/** A merchant's query for one of its payments, by its public identifiers. */
export interface PaymentQuery {
  readonly merchant_id: string
  readonly environment: Environment
  readonly policy: Policy
  readonly c_id?: string
  readonly h_id?: string
}

/**
 * Finds the merchant's payment by `c_id`, `h_id` or both, which then must name the same payment (P16). Throws 1005
 * without an identifier, 6010 when there is no such payment, 3008 when the policy forbids its route or currency, and
 * `Unavailable` when the ledger does not decide in time about a withdrawal that is being created. The read is
 * linearizable (P2): merchants act on the status, and after 6010 they may create the payment again.
 */
export async function findPayment(deps: AdmissionDeps, request: PaymentQuery): Promise<Stored<Payment>> {
  const { payments } = deps
  const { merchant_id, environment, c_id, h_id } = request
  if (c_id === undefined && h_id === undefined) throw fieldError(1005, 'params.payment.identifiers')
  const found =
    c_id === undefined
      ? await findByHId(payments, merchant_id, environment, h_id ?? '')
      : await payments.get({ merchant_id, environment, c_id }, { linearizable: true })
  const payment = !found || isAdmitted(found) ? found : await awaitAdmission(deps, found)
  if (!payment || (h_id !== undefined && payment.h_id !== h_id)) throw new PublicError(6010)
  if (!permitsRoute(request.policy, payment.service_id, payment.currency)) throw new PublicError(3008)
  return payment
}
