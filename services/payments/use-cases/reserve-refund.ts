import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { Stored } from '#lib/store/store.ts'
import { decideReservation, type RefundRequest } from '../domain/decide-refund.ts'
import type { Payment } from '../domain/payment.ts'
import { findRefund, requireRefund } from '../domain/refund.ts'
import type { ReportedChange } from '../domain/refund-to-proto.ts'
import { applyDecision } from './apply-decision.ts'
import type { AdmissionDeps } from './await-admission.ts'
import { findRefundablePayment, type RefundedPaymentQuery } from './find-refundable-payment.ts'

/** The payment of a requested refund, and the restrictions of the credential, which apply to its route. */
export interface ReservationQuery extends RefundedPaymentQuery {
  readonly policy: Policy
}

/** A payment after a decision about one of its refunds, and the change that it led to. */
export interface DecidedRefund {
  readonly payment: Stored<Payment>
  readonly change: ReportedChange
}

/**
 * Reserves the amount of a refund, once per `refund_id`. Throws 10001 without such a payment, 3008 when the policy forbids its
 * route or currency, then 11002, 11005 or 11004 (S8). A repetition gets the same decision, also when that was a refusal. The
 * policy is not applied again to a refund that was accepted.
 */
export async function reserveRefund(
  deps: AdmissionDeps,
  query: ReservationQuery,
  request: RefundRequest,
): Promise<DecidedRefund> {
  const found = await findRefundablePayment(deps, query)
  const is_permitted = permitsRoute(query.policy, found.service_id, found.currency)
  if (!is_permitted && !findRefund(found, request.refund_id)) throw new PublicError(3008)
  const payment = await applyDecision(deps.runner, found, (current) =>
    decideReservation(current, request, now()),
  )
  deps.runner.runEffectsInBackground(payment)
  const { refund_id, c_id, reason } = request
  const { created_at: changed_at } = requireRefund(payment, refund_id)
  return { payment, change: { refund_id, number: 1, status: 'pending', changed_at, c_id, reason } }
}
