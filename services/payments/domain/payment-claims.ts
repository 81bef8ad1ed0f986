import type { Claim } from '#lib/role/requirement.ts'
import { endOperation } from './apply-provider-update.ts'
import { winChargeback } from './chargeback.ts'
import { addLateLookup } from './end-without-report.ts'
import { applyHoldDecision } from './hold-decision.ts'
import { CANCELED_WITHDRAWAL_REASON, operationOf } from './operation.ts'
import {
  addEffect,
  isAdmitted,
  type Payment,
  type Refund,
  type RefundState,
  type StoredPayment,
} from './payment.ts'
import { reportChargebackEffect, reportRefundEffect } from './payment-effects.ts'
import { ledgerEntriesOf } from './payment-requirements.ts'
import { findChargeback, findRefund, withRefund } from './refund.ts'

type ClaimOf<Kind extends Claim['kind']> = Claim & { readonly kind: Kind }

/**
 * What a refund can be at its payment while support still shows the status: the payment decides first. After a restore, an
 * approved one can be about to learn again that its hold was placed.
 */
const STATES_FROM: Readonly<Record<ClaimOf<'refund'>['status'], readonly RefundState[]>> = {
  pending: ['pending', 'approving', 'approved', 'completed', 'failed', 'rejected', 'canceled'],
  approved: ['approving', 'approved', 'completed', 'failed'],
  completed: ['completed'],
  failed: ['failed'],
  rejected: ['rejected'],
  canceled: ['canceled'],
}

/** Whether a payment knows a fact that another role states about it, with the same amount. Pure. */
export function agreesWith(payment: StoredPayment, claim: Claim): boolean {
  const { amount, currency } = claim
  if (currency !== payment.currency) return false
  if (claim.kind === 'entry' && claim.refused_code !== undefined) return knowsRefusal(payment, claim)
  if (claim.kind === 'entry')
    return ledgerEntriesOf(payment).some(
      (entry) =>
        entry.entry_id === claim.entry_id && entry.posting === claim.posting && entry.amount === amount,
    )
  if (!isAdmitted(payment)) return false
  if (claim.kind === 'refund') {
    const refund = findRefund(payment, claim.refund_id)
    return refund?.amount === amount && STATES_FROM[claim.status].includes(refund.state)
  }
  const chargeback = findChargeback(payment, claim.chargeback_id)
  return chargeback?.amount === amount && (chargeback.is_won || !claim.is_won)
}

/** Whether the next hold of a refund gets another id than one that the ledger refused: it refuses that one permanently (P18). */
function knowsRefusal(payment: StoredPayment, { entry_id, amount }: ClaimOf<'entry'>): boolean {
  const { refund_id, number } = HOLD_OF_REFUND.exec(entry_id)?.groups ?? {}
  const refund = refund_id !== undefined && isAdmitted(payment) ? findRefund(payment, refund_id) : undefined
  if (refund === undefined) return true
  return refund.amount === amount && (isEnded(refund) || refund.holds >= Number(number))
}

/**
 * The payment with a fact that a role knows which a backup read later (`at` is the time of the fact), and what follows from
 * it. Facts of support come first, then the entries of the ledger in their order. The ledger decides how an operation has
 * ended, also when its provider would now say that it does not know it: nothing may be sent for money that has moved. The
 * same payment when the fact cannot be true for it. Pure.
 */
export function adoptClaim(payment: StoredPayment, claim: Claim, at: Date): StoredPayment {
  if (claim.currency !== payment.currency || agreesWith(payment, claim)) return payment
  if (claim.kind === 'entry') {
    const adopted = adoptEntry(payment, claim, at)
    return agreesWith(adopted, claim) ? adopted : payment
  }
  if (!isAdmitted(payment)) return payment
  return claim.kind === 'refund' ? adoptRefund(payment, claim, at) : adoptChargeback(payment, claim, at)
}

/** Support knows that a refund was requested, and closed without money. Whether it was paid back, the ledger knows. */
function adoptRefund(payment: Payment, { refund_id, amount, status }: ClaimOf<'refund'>, at: Date): Payment {
  const known = findRefund(payment, refund_id)
  if (known && (known.amount !== amount || isEnded(known))) return payment
  const requested = known ? payment : withNewRefund(payment, { refund_id, amount }, at)
  if (status !== 'rejected' && status !== 'canceled') return requested
  const refund = findRefund(requested, refund_id) as Refund
  return withRefund(requested, { ...refund, state: status, change_number: 2, ended_at: at })
}

function isEnded({ state }: Refund): boolean {
  return state !== 'pending' && state !== 'approving'
}

function withNewRefund(
  payment: Payment,
  { refund_id, amount }: Pick<Refund, 'refund_id' | 'amount'>,
  created_at: Date,
): Payment {
  const refund: Refund = { refund_id, amount, state: 'pending', change_number: 1, holds: 0, created_at }
  return { ...payment, refunds: [...(payment.refunds ?? []), refund], updated_at: created_at }
}

function adoptChargeback(
  payment: Payment,
  { chargeback_id, amount }: Pick<ClaimOf<'chargeback'>, 'chargeback_id' | 'amount'>,
  at: Date,
): Payment {
  if (findChargeback(payment, chargeback_id)) return payment
  const chargeback = { chargeback_id, amount, is_won: false, created_at: at }
  return { ...payment, chargebacks: [...(payment.chargebacks ?? []), chargeback], updated_at: at }
}

const HOLD_OF_REFUND = /^(?<refund_id>.+):hold:(?<number>[1-9][0-9]*)$/
const RESOLVE_SUFFIX = /:resolve$/
const CHARGEBACK_SUFFIX = /:(debit|return)$/

/** The ledger has booked what this payment does not know yet: it becomes what it was when the entry was posted. */
function adoptEntry(payment: StoredPayment, entry: ClaimOf<'entry'>, at: Date): StoredPayment {
  switch (entry.posting) {
    case 'hold':
      return adoptHold(payment, entry, at)
    case 'credit':
      return adoptEnd(payment, undefined, entry, at)
    case 'capture':
    case 'release': {
      const hold_id = entry.entry_id.replace(RESOLVE_SUFFIX, '')
      const refund_id = HOLD_OF_REFUND.exec(hold_id)?.groups?.['refund_id']
      if (refund_id !== undefined && !(isAdmitted(payment) && findRefund(payment, refund_id))) return payment
      const held = applyHoldDecision(payment, { hold_id, refund_id, refused_code: undefined }, at)
      return adoptEnd(held, refund_id, entry, at)
    }
    case 'debit':
    case 'return':
      return isAdmitted(payment) ? adoptChargebackEntry(payment, entry, at) : payment
  }
}

/**
 * A refund that was approved, or whose approval the ledger refused: it is pending again. When support does not know an approved
 * one either, the payment reports it, under its own id as reference.
 */
function adoptHold(
  payment: StoredPayment,
  { entry_id, amount, refused_code }: ClaimOf<'entry'>,
  at: Date,
): StoredPayment {
  const { refund_id, number } = HOLD_OF_REFUND.exec(entry_id)?.groups ?? {}
  if (refund_id === undefined || !isAdmitted(payment)) return payment
  const known = findRefund(payment, refund_id)
  if (known && (known.amount !== amount || isEnded(known))) return payment
  const requested = known
    ? payment
    : withReport(withNewRefund(payment, { refund_id, amount }, at), refund_id, at)
  const refund = findRefund(requested, refund_id) as Refund
  const { is_hold_unknown: _, ...known_hold } = refund
  const approving = withRefund(requested, { ...known_hold, state: 'approving', holds: Number(number) })
  return applyHoldDecision(approving, { hold_id: entry_id, refund_id, refused_code }, at)
}

function withReport(payment: Payment, refund_id: string, at: Date): Payment {
  const request = {
    refund_id,
    number: 1,
    status: 'pending',
    changed_at: at,
    c_id: refund_id,
    reason: '',
  } as const
  return addEffect(payment, reportRefundEffect.newEffect(payment, request, { at }))
}

/**
 * Ends an open operation as its entry says, like a provider or the operator. At which of its attempts a payment was paid, the
 * ledger does not know: its accounts are asked (P19). A failure may be contradicted later (P7).
 */
function adoptEnd(
  payment: StoredPayment,
  refund_id: string | undefined,
  { posting, reason }: ClaimOf<'entry'>,
  at: Date,
): StoredPayment {
  if (!isAdmitted(payment)) return payment
  const operation = operationOf(payment, refund_id)
  if (!operation.is_open) return payment
  if (posting !== 'release') {
    const is_asking = refund_id === undefined && payment.restored === 'asking_accounts'
    const booked: Payment = is_asking ? { ...payment, restored: 'booked' } : payment
    return endOperation(booked, operation, 'success', { at })
  }
  const failed =
    reason === CANCELED_WITHDRAWAL_REASON
      ? endOperation(payment, operation, 'canceled', { at, error_code: 6034 })
      : endOperation(payment, operation, 'not_paid', { at, error_code: 6044 })
  return addLateLookup(failed, refund_id, at)
}

/** Support may not know the chargeback: it is reported, without its reason, which only support would have. */
function adoptChargebackEntry(
  payment: Payment,
  { entry_id, posting, amount }: ClaimOf<'entry'>,
  at: Date,
): Payment {
  const chargeback_id = entry_id.replace(CHARGEBACK_SUFFIX, '')
  const is_known = findChargeback(payment, chargeback_id) !== undefined
  if (posting === 'return') return is_known ? winChargeback(payment, chargeback_id, at) : payment
  if (is_known) return payment
  const counted = adoptChargeback(payment, { chargeback_id, amount }, at)
  const report = { chargeback_id, reason_code: '', deadline: '' }
  return addEffect(counted, reportChargebackEffect.newEffect(counted, report, { at }))
}
