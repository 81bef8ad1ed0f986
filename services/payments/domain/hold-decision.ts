import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { addAnomaly, newLedgerRefusalAnomaly } from './anomaly.ts'
import { withCreatedStatus } from './new-payment.ts'
import {
  addEffect,
  type EarlierRefusal,
  holdIdOf,
  type Payment,
  type RefusedWithdrawal,
  type ReservingWithdrawal,
  requireAdmitted,
  type StoredPayment,
} from './payment.ts'
import { discardRefusedEffect, holdFundsEffect, recordRefusalEffect } from './payment-effects.ts'
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
  const { payload_mac: _, earlier_refusals: _earlier, ...fields } = withdrawal
  const attempt = { ...withdrawal.attempt, created_at: at }
  const admitted = withCreatedStatus({ ...fields, attempt }, at)
  return { ...admitted, effects: [...withdrawal.effects, ...admitted.effects] }
}

/** How long a refused withdrawal answers the same request with the same refusal (P3): longer than any repetition in transit. */
const REFUSED_FOR_MS = 60_000

/** More requests under one `c_id` than a merchant sends in a minute. Beyond these, the oldest is forgotten. */
const EARLIER_REFUSALS_MAX = 8

/**
 * The requests that a refused withdrawal still answers with their refusals: its own, and those that it has replaced, the newest
 * last. Each is decided again after its 60 seconds (P3). Pure.
 */
export function answeredRefusals(refused: RefusedWithdrawal, at: Date): readonly EarlierRefusal[] {
  const { payload_mac, error_code, updated_at, earlier_refusals = [] } = refused
  return [...earlier_refusals, { payload_mac, error_code, at: updated_at }].filter(
    (refusal) => at.getTime() < refusal.at.getTime() + REFUSED_FOR_MS,
  )
}

/** The payment that replaces a refused withdrawal. It remembers what that one still answers until it is admitted (P3). Pure. */
export function inPlaceOf(refused: RefusedWithdrawal, payment: StoredPayment, at: Date): StoredPayment {
  if (payment.status !== 'reserving') return payment
  return { ...payment, earlier_refusals: answeredRefusals(refused, at).slice(-EARLIER_REFUSALS_MAX) }
}

/**
 * The withdrawal after the ledger has refused its hold with `error_code`: recorded, and deleted after 60 seconds. A restored one
 * may have been admitted and paid after its backup, so its refusal is an anomaly, and it stays under its `c_id`, without what
 * identifies its person: another payment under that `c_id` could be paid a second time (P19). Pure.
 */
export function refuseWithdrawal(
  withdrawal: ReservingWithdrawal,
  error_code: ErrorCode,
  at: Date,
): RefusedWithdrawal {
  const record = recordRefusalEffect.newEffect(withdrawal, {}, { at })
  const refused = { ...withdrawal, status: 'refused', error_code, updated_at: at } as const
  if (withdrawal.restored) {
    const entry = holdFundsEffect.newEffect(withdrawal, { hold_id: holdIdOf(withdrawal) }, { at })
    const anomaly = newLedgerRefusalAnomaly(withdrawal, { entry, code: error_code, at })
    const erased = { details: undefined, beneficiary: undefined, webhook: undefined, erased_at: at }
    return addEffect(addAnomaly({ ...refused, ...erased }, anomaly), record)
  }
  const due_at = new Date(at.getTime() + REFUSED_FOR_MS)
  const discard = discardRefusedEffect.newEffect(withdrawal, {}, { at, due_at, after: record.id })
  return { ...refused, effects: [...withdrawal.effects, record, discard] }
}

/** Whether a withdrawal that the ledger refused has freed its `c_id` (P3). A restored one never does (P19). */
export function hasFreedCId({ restored }: RefusedWithdrawal): boolean {
  return restored === undefined
}

/** The record of a withdrawal that the ledger refused. The withdrawal itself is deleted (P3). It has no bank data. */
export type WithdrawalRefusal = ReturnType<typeof refusalOf> & {
  /** See `testEndedAt`; the store derives it. */
  readonly test_ended_at?: Date | undefined
}

/** Makes the record of a refused withdrawal. */
export function refusalOf(refused: RefusedWithdrawal) {
  const { merchant_id, payment_id, environment, c_id, service_id, amount, currency, error_code } = refused
  const { created_at, updated_at: refused_at } = refused
  const what = { merchant_id, payment_id, environment, c_id, service_id, amount, currency }
  return { ...what, error_code, created_at, refused_at }
}
