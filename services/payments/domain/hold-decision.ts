import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { withCreatedStatus } from './new-payment.ts'
import {
  type Payment,
  type RefusedWithdrawal,
  type ReservingWithdrawal,
  requireAdmitted,
  type StoredPayment,
} from './payment.ts'
import { discardRefusedEffect } from './payment-effects.ts'
import { applyRefundHold, type HoldDecision } from './refund-transitions.ts'

/**
 * Applies the ledger's decision about a hold: the operation goes to its provider, or it is refused. A refused withdrawal is
 * deleted (P3), a refused refund waits for its next approval (S9). A decision about an earlier hold changes nothing. Pure.
 */
export function applyHoldDecision(document: StoredPayment, decision: HoldDecision, at: Date): StoredPayment {
  const { refund_id, refused_code } = decision
  if (refund_id !== undefined)
    return applyRefundHold(requireAdmitted(document), { ...decision, refund_id }, at)
  // Only this decision ends the status, so this is for the type.
  if (document.status !== 'reserving') return document
  return refused_code === undefined
    ? admitWithdrawal(document, at)
    : refuseWithdrawal(document, refused_code, at)
}

/** The withdrawal after the ledger has placed its hold: its life for the merchant begins. Pure. */
export function admitWithdrawal(withdrawal: ReservingWithdrawal, at: Date): Payment {
  const attempt = { ...withdrawal.attempt, created_at: at }
  const admitted = withCreatedStatus({ ...withdrawal, attempt }, at)
  return { ...admitted, effects: [...withdrawal.effects, ...admitted.effects] }
}

/** The withdrawal after the ledger has refused its hold with `error_code`: it is to be deleted. Pure. */
export function refuseWithdrawal(
  withdrawal: ReservingWithdrawal,
  error_code: ErrorCode,
  at: Date,
): RefusedWithdrawal {
  const discard = discardRefusedEffect.newEffect(withdrawal, {}, { at })
  return {
    ...withdrawal,
    status: 'refused',
    error_code,
    updated_at: at,
    effects: [...withdrawal.effects, discard],
  }
}

/** The record of a withdrawal that the ledger refused. The withdrawal itself is deleted (P3). It has no bank data. */
export type WithdrawalRefusal = ReturnType<typeof refusalOf>

/** Makes the record of a refused withdrawal. */
export function refusalOf(refused: RefusedWithdrawal) {
  const { merchant_id, payment_id, environment, c_id, service_id, amount, currency, error_code } = refused
  const { created_at, updated_at: refused_at } = refused
  const what = { merchant_id, payment_id, environment, c_id, service_id, amount, currency }
  return { ...what, error_code, created_at, refused_at }
}
