import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { addEffect, type Payment } from './payment.ts'
import {
  findRefund,
  holdIdOfRefund,
  isActive,
  REFUNDS_MAX,
  type Refund,
  requireRefund,
  uncommittedAmount,
  unreturnedAmount,
  withRefund,
  withRefusal,
} from './refund.ts'
import {
  createRefundEffect,
  holdRefundEffect,
  reportOpenRefundEffect,
  reportRefundEffect,
} from './refund-effects.ts'

/**
 * When a refund that has no result yet is reported to the operator, counted from its approval, as for a withdrawal
 * (P8).
 */
const REPORT_OPEN_AFTER_MS = 24 * 3_600_000

/** A merchant's request for a refund. Without an amount it is for all that remains. */
export interface RefundRequest {
  readonly refund_id: string
  readonly c_id: string
  readonly amount?: bigint
  readonly reason: string
}

/**
 * A decision on a payment: the payment to store, or the same one when nothing changes, and the refusal, if it is one.
 */
export interface RefundDecision {
  readonly payment: Payment
  readonly refused_code?: ErrorCode
}

/**
 * Reserves a part of the payment for a refund, or refuses it: 11002, 11005, 11004, in this order (S8). The refusal is
 * stored like the reservation, so a request that arrives again late gets the same decision. Pure.
 */
export function decideReservation(payment: Payment, request: RefundRequest, at: Date): RefundDecision {
  const { refund_id, c_id, reason } = request
  if (findRefund(payment, refund_id)) return { payment }
  const known = payment.reservation_refusals?.find(({ id }) => id === refund_id)
  if (known) return { payment, refused_code: known.code }
  const left = unreturnedAmount(payment)
  const { amount = left } = request
  const refused_code = refusalOf(payment, left, amount)
  if (refused_code !== undefined)
    return { payment: withRefusal(payment, { id: refund_id, code: refused_code }), refused_code }
  const refund: Refund = {
    refund_id,
    amount,
    state: 'pending',
    change_number: 1,
    holds: 0,
    created_at: at,
  }
  const reserved = { ...payment, refunds: [...(payment.refunds ?? []), refund], updated_at: at }
  const report = { refund_id, number: 1, status: 'pending', changed_at: at, c_id, reason } as const
  return { payment: addEffect(reserved, reportRefundEffect.newEffect(reserved, report, { at })) }
}

function refusalOf(payment: Payment, left: bigint, amount: bigint): ErrorCode | undefined {
  const { refunds = [] } = payment
  if (!isRefundable(payment) || left <= 0n || refunds.length >= REFUNDS_MAX) return 11002
  if (refunds.some(isActive)) return 11005
  return amount > left ? 11004 : undefined
}

/** Whether the payment was paid by a customer and is not given back in full. */
function isRefundable({ direction, status }: Payment): boolean {
  return direction === 'in' && (status === 'success' || status === 'partially_refunded')
}

/**
 * Begins the approval of a pending refund: its hold is asked for next. Refuses it with 11004 when a chargeback has
 * taken what was reserved (S9), and with 8801 when it was rejected or canceled. A refund that is approved, or on its
 * way there, stays as it is. Pure.
 */
export function beginApproval(payment: Payment, refund_id: string, at: Date): RefundDecision {
  const refund = requireRefund(payment, refund_id)
  if (refund.state === 'rejected' || refund.state === 'canceled') return { payment, refused_code: 8801 }
  if (refund.state !== 'pending') return { payment }
  if (refund.amount > uncommittedAmount(payment)) return { payment, refused_code: 11004 }
  const { hold_refusal: _, ...rest } = refund
  const approving: Refund = { ...rest, state: 'approving', holds: refund.holds + 1 }
  const changed = withRefund(payment, approving)
  const hold_id = holdIdOfRefund(approving)
  return { payment: addEffect(changed, holdRefundEffect.newEffect(changed, { refund_id, hold_id }, { at })) }
}

/**
 * Applies the ledger's decision about a hold: the refund is approved and goes to its provider, or, with `refused_code`,
 * is pending again (S9). The decision about an earlier hold changes nothing. Pure.
 */
export function applyHoldDecision(
  payment: Payment,
  {
    refund_id,
    hold_id,
    refused_code,
  }: { refund_id: string; hold_id: string; refused_code: ErrorCode | undefined },
  at: Date,
): Payment {
  const refund = requireRefund(payment, refund_id)
  if (refund.state !== 'approving' || holdIdOfRefund(refund) !== hold_id) return payment
  if (refused_code !== undefined)
    return withRefund(payment, { ...refund, state: 'pending', hold_refusal: refused_code })
  const approved: Refund = { ...refund, state: 'approved', approved_at: at }
  const changed = reportChange(withRefund(payment, approved), approved, { at })
  const due_at = new Date(at.getTime() + REPORT_OPEN_AFTER_MS)
  const create = createRefundEffect.newEffect(changed, { refund_id }, { at })
  const report = reportOpenRefundEffect.newEffect(changed, { refund_id }, { at, due_at })
  return addEffect(addEffect(changed, create), report)
}

/** How the operator ends a pending refund, and why. */
export interface RefundClosing {
  readonly refund_id: string
  readonly status: 'rejected' | 'canceled'
  readonly reason: string
}

/** Ends a pending refund without money. Refuses any other with 8801. A repetition changes nothing. Pure. */
export function decideClosing(
  payment: Payment,
  { refund_id, status, reason }: RefundClosing,
  at: Date,
): RefundDecision {
  const refund = requireRefund(payment, refund_id)
  if (refund.state === status) return { payment }
  if (refund.state !== 'pending') return { payment, refused_code: 8801 }
  const closed: Refund = { ...refund, state: status, ended_at: at }
  return { payment: reportChange(withRefund(payment, closed), closed, { at, reason }) }
}

/**
 * Reports the refund's new status to the support service, as its next change. `after` names the entry that comes first.
 */
export function reportChange(
  payment: Payment,
  refund: Refund,
  { at, after, reason = '' }: { readonly at: Date; readonly after?: string; readonly reason?: string },
): Payment {
  const { refund_id, state } = refund
  if (state === 'approving') throw new TypeError('merchants do not see that a refund is being approved')
  const number = refund.change_number + 1
  const changed = withRefund({ ...payment, updated_at: at }, { ...refund, change_number: number })
  const report = { refund_id, number, status: state, changed_at: at, c_id: '', reason }
  return addEffect(changed, reportRefundEffect.newEffect(changed, report, { at, after }))
}
