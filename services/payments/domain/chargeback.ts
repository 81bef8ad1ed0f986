import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { addEffect, type Payment } from './payment.ts'
import { postEntryEffect, reportChargebackEffect } from './payment-effects.ts'
import {
  CHARGEBACKS_MAX,
  findChargeback,
  type RefundDecision,
  refuseOnce,
  requireChargeback,
  uncommittedAmount,
} from './refund.ts'

/** A chargeback that a bank demands. */
export interface ChargebackRequest {
  readonly chargeback_id: string
  readonly amount: bigint
  readonly currency: string
  readonly reason_code: string
  readonly deadline_at?: Date | undefined
}

/**
 * Counts a chargeback against the payment and debits it from the merchant (S10), or refuses it: 11002 for a payment
 * that no customer has paid, 6002 for another currency, 11004 for more than refunds and other chargebacks have left.
 * Pending refunds are not subtracted: the approval of one for which too little remains is refused (S9). A repeated
 * request gets the decision on the first one. Pure.
 */
export function decideChargeback(payment: Payment, request: ChargebackRequest, at: Date): RefundDecision {
  const { chargeback_id, amount, reason_code, deadline_at } = request
  if (findChargeback(payment, chargeback_id)) return { payment }
  const refused = refuseOnce(payment, chargeback_id, refusalOf(payment, request))
  if (refused) return refused
  const chargeback = { chargeback_id, amount, is_won: false, created_at: at }
  const counted = { ...payment, chargebacks: [...(payment.chargebacks ?? []), chargeback], updated_at: at }
  const debit = postEntryEffect.newEffect(counted, { posting: 'debit', chargeback_id }, { at })
  const deadline = deadline_at?.toISOString() ?? ''
  const content = { chargeback_id, reason_code, deadline }
  const report = reportChargebackEffect.newEffect(counted, content, { at, after: debit.id })
  return { payment: addEffect(addEffect(counted, debit), report) }
}

function refusalOf(payment: Payment, { amount, currency }: ChargebackRequest): ErrorCode | undefined {
  const { direction, status, chargebacks = [] } = payment
  const is_paid = status === 'success' || status === 'partially_refunded' || status === 'refunded'
  if (direction !== 'in' || !is_paid || chargebacks.length >= CHARGEBACKS_MAX) return 11002
  if (currency !== payment.currency) return 6002
  return amount > uncommittedAmount(payment) ? 11004 : undefined
}

/**
 * The merchant has won the chargeback: it is credited back and no longer counts. A repetition changes nothing. Pure.
 */
export function winChargeback(payment: Payment, chargeback_id: string, at: Date): Payment {
  const chargeback = requireChargeback(payment, chargeback_id)
  if (chargeback.is_won) return payment
  const chargebacks = (payment.chargebacks ?? []).map((one) =>
    one === chargeback ? { ...one, is_won: true } : one,
  )
  const returned = { ...payment, chargebacks, updated_at: at }
  const entry = postEntryEffect.newEffect(returned, { posting: 'return', chargeback_id }, { at })
  return addEffect(returned, entry)
}
