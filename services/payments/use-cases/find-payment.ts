import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { Collection, Stored } from '#lib/platform/store/store.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { findByHId, type PaymentKey } from '../store/payments.ts'
import { type AdmissionDeps, awaitAdmission } from './await-admission.ts'

/** A merchant's question for one of its payments, by its public identifiers. */
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
 * `Unavailable` when the ledger does not decide in time about a withdrawal that is being created.
 */
export async function findPayment(deps: AdmissionDeps, request: PaymentQuery): Promise<Stored<Payment>> {
  const { payments } = deps
  const { merchant_id, environment, c_id, h_id } = request
  if (c_id === undefined && h_id === undefined) throw fieldError(1005, 'params.payment.identifiers')
  const found =
    c_id === undefined
      ? await findByHId(payments, merchant_id, environment, h_id ?? '')
      : await getByCId(payments, { merchant_id, environment, c_id })
  const payment = !found || isAdmitted(found) ? found : await awaitAdmission(deps, found)
  if (!payment || (h_id !== undefined && payment.h_id !== h_id)) throw new PublicError(6010)
  if (!permitsRoute(request.policy, payment.service_id, payment.currency)) throw new PublicError(3008)
  return payment
}

/**
 * Absence is confirmed by a linearizable read, because a merchant whose create lost its response may create the payment
 * again under another `c_id` after a 6010 (P2). A payment that is found may show an earlier status during a fail-over.
 */
async function getByCId(
  payments: Collection<StoredPayment>,
  key: PaymentKey,
): Promise<Stored<StoredPayment> | undefined> {
  return (await payments.get(key)) ?? (await payments.get(key, { linearizable: true }))
}
