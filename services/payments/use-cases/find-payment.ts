import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { Stored } from '#lib/store/store.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { findByAnyId, findByHId, type PaymentKey } from '../store/payments.ts'
import { type AdmissionDeps, awaitAdmission } from './await-change.ts'

/** A merchant's query for one of its payments, by its public identifiers. */
export interface PaymentQuery {
  readonly merchant_id: string
  readonly environment: Environment
  readonly policy: Policy
  readonly c_id?: string | undefined
  readonly h_id?: string | undefined
}

/**
 * Finds the merchant's payment by `c_id`, `h_id` or both, which then must name the same payment (P16). Throws 1005
 * without an identifier, 6010 when there is no such payment, 3008 when the policy forbids its route or currency, and
 * `Unavailable` when the ledger does not decide in time about a withdrawal that is being created. The read is
 * linearizable (P2): merchants act on the status, and after 6010 they may create the payment again. A status is shown at once,
 * also while its ledger entry is not posted yet: the provider has decided, and only the event announces the entry (P9).
 */
export async function findPayment(deps: AdmissionDeps, request: PaymentQuery): Promise<Stored<Payment>> {
  const { c_id, h_id } = request
  if (c_id === undefined && h_id === undefined) throw fieldError(1005, 'params.payment.identifiers')
  const payment = await findByPublicId(deps, request)
  if (!payment || (h_id !== undefined && payment.h_id !== h_id)) throw new PublicError(6010)
  if (!permitsRoute(request.policy, payment.service_id, payment.currency)) throw new PublicError(3008)
  return payment
}

/** Finds a merchant's payment by its `c_id`, or by its `h_id` when there is no `c_id`. The read is linearizable. */
export async function findByPublicId(
  deps: AdmissionDeps,
  { merchant_id, environment, c_id, h_id = '' }: PaymentQuery,
): Promise<Stored<Payment> | undefined> {
  const { payments } = deps
  return completed(
    deps,
    c_id === undefined
      ? await findByHId(payments, merchant_id, environment, h_id)
      : await payments.get({ merchant_id, environment, c_id }, { linearizable: true }),
  )
}

/** A payment in a request of the operator: its `payment_id` or `h_id`, or the merchant's `c_id` with merchant and environment. */
export type PaymentName = string | PaymentKey

/**
 * Reads any payment by its name, for the operator. Throws `unknown_code` when there is none, and
 * `Unavailable` when the ledger does not decide in time about a withdrawal that is being created.
 */
export async function getPayment(
  deps: AdmissionDeps,
  name: PaymentName,
  unknown_code: 6010 | 10001 = 6010,
): Promise<Stored<Payment>> {
  const { payments } = deps
  const found =
    typeof name === 'string'
      ? await findByAnyId(payments, name)
      : await payments.get(name, { linearizable: true })
  const payment = await completed(deps, found)
  if (!payment) throw new PublicError(unknown_code)
  return payment
}

/** The payment that was found, once the ledger has decided about it; `undefined` when it was refused. */
async function completed(
  deps: AdmissionDeps,
  found: Stored<StoredPayment> | undefined,
): Promise<Stored<Payment> | undefined> {
  return !found || isAdmitted(found) ? found : await awaitAdmission(deps, found)
}
