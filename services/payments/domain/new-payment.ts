import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Payment, RefusedWithdrawal, ReservingWithdrawal } from './payment.ts'
import {
  createAtProviderEffect,
  discardRefusedEffect,
  expirePaymentEffect,
  holdFundsEffect,
  reportOpenEffect,
} from './payment-effects.ts'
import { newEventEffect } from './payment-event.ts'

/** The fields of a new payment that its request and its route decide. */
export type NewPaymentFields = Omit<
  Payment,
  'status' | 'history' | 'transition_number' | 'updated_at' | 'effects'
>

/** A new deposit: it goes to its provider, is announced, and expires at `expires_at` (P8). Pure. */
export function beginDeposit(fields: NewPaymentFields & { readonly expires_at: Date }): Payment {
  const { created_at: at, expires_at: due_at } = fields
  const payment = withCreatedStatus(fields, at)
  const expiry = expirePaymentEffect.newEffect(payment, {}, { at, due_at })
  return { ...payment, effects: [...payment.effects, expiry] }
}

/** A new withdrawal. Merchants do not see it until the ledger has admitted its hold (P3). Pure. */
export function beginWithdrawal(fields: NewPaymentFields): ReservingWithdrawal {
  const { created_at: at } = fields
  const effects = [holdFundsEffect.newEffect(fields, {}, { at })]
  return { ...fields, status: 'reserving', history: [], transition_number: 0, updated_at: at, effects }
}

/** When a withdrawal that has no result yet is reported to the operator. It never expires (P8). */
const REPORT_OPEN_AFTER_MS = 24 * 3_600_000

/** The withdrawal after the ledger has placed its hold: its life for the merchant begins. Pure. */
export function admitWithdrawal(withdrawal: ReservingWithdrawal, at: Date): Payment {
  const admitted = withCreatedStatus(
    { ...withdrawal, attempt: { ...withdrawal.attempt, created_at: at } },
    at,
  )
  const due_at = new Date(at.getTime() + REPORT_OPEN_AFTER_MS)
  const report = reportOpenEffect.newEffect(admitted, {}, { at, due_at })
  return { ...admitted, effects: [...withdrawal.effects, ...admitted.effects, report] }
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

/** A payment with its first public status, and the effects that follow from it: the create and the event. */
function withCreatedStatus(fields: NewPaymentFields, at: Date): Payment {
  const payment: Payment = {
    ...fields,
    status: 'created',
    history: [{ status: 'created', at, amount: fields.amount }],
    transition_number: 1,
    updated_at: at,
    effects: [],
  }
  const effects = [
    createAtProviderEffect.newEffect(payment, {}, { at }),
    newEventEffect(payment, 'payment.created', { at }),
  ]
  return { ...payment, effects }
}
