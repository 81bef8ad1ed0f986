import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { addEffect, type Payment, type Refund } from './payment.ts'
import {
  createAtProviderEffect,
  effectsAfterEnd,
  holdFundsEffect,
  newEndEntry,
  newResultLimit,
  reportRefundEffect,
} from './payment-effects.ts'
import {
  findRefund,
  holdIdOfRefund,
  isActive,
  REFUNDS_MAX,
  type RefundDecision,
  refundedAmount,
  refuseOnce,
  requireRefund,
  uncommittedAmount,
  unreturnedAmount,
  withRefund,
} from './refund.ts'
import { type TransitionDetails, transition } from './transition.ts'

/** A merchant's request for a refund. Without an amount it is for all that remains. */
export interface RefundRequest {
  readonly refund_id: string
  readonly c_id: string
  readonly amount?: bigint | undefined
  readonly reason: string
}

/**
 * Reserves a part of the payment for a refund, or refuses it: 11002, 11005, 11004, in this order (S8). The refusal is
 * stored like the reservation, so a request that arrives again late gets the same decision. With 11004 comes what
 * remains now. Pure.
 */
export function decideReservation(payment: Payment, request: RefundRequest, at: Date): RefundDecision {
  const { refund_id, c_id, reason } = request
  if (findRefund(payment, refund_id)) return { payment }
  const left = unreturnedAmount(payment)
  const { amount = left } = request
  const refused = refuseOnce(payment, refund_id, refusalOf(payment, left, amount))
  if (refused?.refused_code === 11004)
    return { ...refused, refused_details: { remaining_amount: String(left < 0n ? 0n : left) } }
  if (refused) return refused
  const refund: Refund = { refund_id, amount, state: 'pending', change_number: 1, holds: 0, created_at: at }
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
 * way there, stays as it is. `fingerprint` is that of the account that it will go to. Pure.
 */
export function beginApproval(
  payment: Payment,
  refund_id: string,
  at: Date,
  fingerprint = '',
): RefundDecision {
  const refund = requireRefund(payment, refund_id)
  if (refund.state === 'rejected' || refund.state === 'canceled') return { payment, refused_code: 8801 }
  if (refund.state !== 'pending') return { payment }
  if (refund.amount > uncommittedAmount(payment)) return { payment, refused_code: 11004 }
  const { hold_refusal: _, is_hold_unknown: _unknown, ...rest } = refund
  const approving: Refund = {
    ...rest,
    state: 'approving',
    holds: refund.holds + 1,
    account: { fingerprint, at },
  }
  const changed = withRefund(payment, approving)
  const hold_id = holdIdOfRefund(approving)
  return { payment: addEffect(changed, holdFundsEffect.newEffect(changed, { refund_id, hold_id }, { at })) }
}

/** The ledger's decision about a hold: of a refund, or of the withdrawal itself. */
export interface HoldDecision {
  readonly hold_id: string
  readonly refund_id?: string | undefined
  /** The code with which the ledger refused the hold; `undefined` when it placed the hold. */
  readonly refused_code: ErrorCode | undefined
}

/**
 * Applies the ledger's decision about the hold of a refund: the refund is approved and goes to its provider, or is pending
 * again (S9). The decision about an earlier hold changes nothing. Pure.
 */
export function applyRefundHold(
  payment: Payment,
  { refund_id, hold_id, refused_code }: HoldDecision & { readonly refund_id: string },
  at: Date,
): Payment {
  const refund = requireRefund(payment, refund_id)
  if (refund.state !== 'approving' || holdIdOfRefund(refund) !== hold_id) return payment
  if (refused_code !== undefined)
    return withRefund(payment, { ...refund, state: 'pending', hold_refusal: refused_code })
  const approved: Refund = { ...refund, state: 'approved', approved_at: at }
  const changed = reportChange(withRefund(payment, approved), approved, { at })
  const create = createAtProviderEffect.newEffect(changed, { refund_id }, { at })
  return addEffect(addEffect(changed, create), newResultLimit(changed, refund_id, at))
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
 * Ends an approved refund. When it is completed, the payment changes its status (P9); when it failed, the payment and the
 * merchant get its amount back. The ledger ends the hold, then the change is announced. Pure.
 */
export function endRefund(
  payment: Payment,
  refund_id: string,
  state: 'completed' | 'failed',
  { at, error_code }: Pick<TransitionDetails, 'at' | 'error_code'>,
): Payment {
  const refund = requireRefund(payment, refund_id)
  if (refund.state !== 'approved') throw new Error(`forbidden end of a refund in ${refund.state}`)
  const is_success = state === 'completed'
  const ended: Refund = { ...refund, state, ended_at: at, error_code }
  const changed = withRefund({ ...payment, effects: effectsAfterEnd(payment.effects, refund_id) }, ended)
  const entry = newEndEntry(changed, refund_id, is_success, at)
  const report = { at, after: entry?.id }
  if (!is_success) return reportChange(entry ? addEffect(changed, entry) : changed, ended, report)
  const is_whole = changed.amount === refundedAmount(changed)
  const status = is_whole ? 'refunded' : 'partially_refunded'
  return reportChange(transition(changed, status, { at, refund: { ...ended, entry } }), ended, report)
}

/**
 * Reports the refund's new status to the support service, as its next change. `after` names the entry that comes first.
 */
function reportChange(
  payment: Payment,
  refund: Refund,
  {
    at,
    after,
    reason = '',
  }: { readonly at: Date; readonly after?: string | undefined; readonly reason?: string },
): Payment {
  const { refund_id, state } = refund
  if (state === 'approving') throw new TypeError('merchants do not see that a refund is being approved')
  const number = refund.change_number + 1
  const changed = withRefund({ ...payment, updated_at: at }, { ...refund, change_number: number })
  const report = { refund_id, number, status: state, changed_at: at, c_id: '', reason }
  return addEffect(changed, reportRefundEffect.newEffect(changed, report, { at, after }))
}
