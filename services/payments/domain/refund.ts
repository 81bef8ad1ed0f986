import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { ErrorInfo } from '#lib/contract/errors/public-error.ts'
import {
  asPaid,
  isAdmitted,
  type OpenRefund,
  type Payment,
  type PaymentChargeback,
  type Refund,
  type StoredPayment,
} from './payment.ts'

/** The most refunds of one payment, in whatever status: bounds its document and its operations. */
export const REFUNDS_MAX = 100

/** The most chargebacks of one payment. */
export const CHARGEBACKS_MAX = 100

/** The refusals that a payment keeps: far more than requests about one payment can be on their way at once. */
const REFUSALS_MAX = 20

/** The refund of a payment with this id. */
export function findRefund({ refunds = [] }: Payment, refund_id: string): Refund | undefined {
  return refunds.find((refund) => refund.refund_id === refund_id)
}

/** The refund of a payment with this id. Throws when there is none: an effect of the payment names it. */
export function requireRefund(payment: Payment, refund_id: string): Refund {
  const refund = findRefund(payment, refund_id)
  if (!refund) throw new Error(`the payment ${payment.payment_id} has no refund ${refund_id}`)
  return refund
}

/** The chargeback of a payment with this id. */
export function findChargeback(
  { chargebacks = [] }: Payment,
  chargeback_id: string,
): PaymentChargeback | undefined {
  return chargebacks.find((chargeback) => chargeback.chargeback_id === chargeback_id)
}

/** The chargeback of a payment with this id. Throws when there is none. */
export function requireChargeback(payment: Payment, chargeback_id: string): PaymentChargeback {
  const chargeback = findChargeback(payment, chargeback_id)
  if (!chargeback) throw new Error(`the payment ${payment.payment_id} has no chargeback ${chargeback_id}`)
  return chargeback
}

/** The payment with one of its refunds replaced. */
export function withRefund(payment: Payment, changed: Refund): Payment {
  const { refunds = [] } = payment
  const replaced = refunds.map((refund) => (refund.refund_id === changed.refund_id ? changed : refund))
  return { ...payment, refunds: replaced }
}

/**
 * A decision on a payment: the payment to store, or the same one when nothing changes, and the refusal, if it is one.
 */
export interface RefundDecision {
  readonly payment: Payment
  readonly refused_code?: ErrorCode
  /** What the refusal says besides its code. */
  readonly refused_details?: ErrorInfo
}

/**
 * The refusal of a refund or a chargeback by its id: the one that it got before, or else `code`, which the payment keeps
 * until it has 20 newer ones. `undefined` when nothing refuses it.
 */
export function refuseOnce(
  payment: Payment,
  id: string,
  code: ErrorCode | undefined,
): RefundDecision | undefined {
  const { reservation_refusals: known = [] } = payment
  const earlier = known.find((refusal) => refusal.id === id)
  if (earlier) return { payment, refused_code: earlier.code }
  if (code === undefined) return undefined
  const reservation_refusals = [...known.slice(1 - REFUSALS_MAX), { id, code }]
  return { payment: { ...payment, reservation_refusals }, refused_code: code }
}

/** Whether the refund waits for the operator, the ledger or the provider: it counts as active (S8). */
export function isActive({ state }: Refund): boolean {
  return state === 'pending' || state === 'approving' || state === 'approved'
}

/** What the approved refund of a payment waits for, for the index of such payments; `undefined` without one. Pure. */
export function openRefundOf(payment: StoredPayment): OpenRefund | undefined {
  if (!isAdmitted(payment)) return undefined
  const refund = payment.refunds?.find(({ state }) => state === 'approved')
  if (refund === undefined) return undefined
  const { approved_at, created_at } = refund
  return { account_id: asPaid(payment).attempt.account_id, since: approved_at ?? created_at }
}

/** What completed refunds and chargebacks that are not won have left of the payment (S8). */
export function unreturnedAmount(payment: Payment): bigint {
  const { amount, chargebacks = [] } = payment
  return amount - refundedAmount(payment) - sum(chargebacks.filter(({ is_won }) => !is_won))
}

/** What the customer got back by refunds. */
export function refundedAmount({ refunds = [] }: Payment): bigint {
  return sum(refunds.filter(({ state }) => state === 'completed'))
}

/** What is left when refunds whose money is on its way are subtracted too. No chargeback may exceed it. */
export function uncommittedAmount(payment: Payment): bigint {
  const committed = (payment.refunds ?? []).filter(
    ({ state }) => state === 'approving' || state === 'approved',
  )
  return unreturnedAmount(payment) - sum(committed)
}

function sum(parts: readonly { readonly amount: bigint }[]): bigint {
  return parts.reduce((total, { amount }) => total + amount, 0n)
}

/** The id of the refund's present hold in the ledger. */
export function holdIdOfRefund({ refund_id, holds }: Pick<Refund, 'refund_id' | 'holds'>): string {
  return `${refund_id}:hold:${holds}`
}
