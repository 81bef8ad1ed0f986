import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Stored } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import { decideReservation, type RefundDecision, type RefundRequest } from '../domain/decide-refund.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { findRefund, requireRefund } from '../domain/refund.ts'
import type { ReportedChange } from '../domain/refund-to-proto.ts'
import { keyOfPayment } from '../store/payments.ts'
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
  const payment = await decide(deps.runner, found, (current) => decideReservation(current, request, now()))
  deps.runner.runEffectsInBackground(payment)
  const { refund_id, c_id, reason } = request
  const { created_at: changed_at } = requireRefund(payment, refund_id)
  return { payment, change: { refund_id, number: 1, status: 'pending', changed_at, c_id, reason } }
}

/** Applies a decision to the payment in one guarded write. Throws its refusal, after the refusal is stored. */
export async function decide(
  runner: Pick<EffectRunner<StoredPayment>, 'update'>,
  found: Stored<Payment>,
  decision: (current: Payment) => RefundDecision,
): Promise<Stored<Payment>> {
  let refused_code: RefundDecision['refused_code']
  const stored = await runner.update(
    keyOfPayment(found),
    (current) => {
      const payment = requireAdmitted(current)
      const decided = decision(payment)
      refused_code = decided.refused_code
      return decided.payment === payment ? undefined : decided.payment
    },
    found,
  )
  if (!stored) throw new Error(`the payment ${found.payment_id} is gone`)
  if (refused_code !== undefined) throw new PublicError(refused_code)
  return requireAdmitted(stored)
}
