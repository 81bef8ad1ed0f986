import type { Policy } from '#lib/contract/policy.ts'
import { holdIdOf, type Payment, type ReservingWithdrawal } from './payment.ts'
import {
  createAtProviderEffect,
  findRestoredEffect,
  holdFundsEffect,
  newResultLimit,
} from './payment-effects.ts'
import { newEventEffect } from './payment-event.ts'

/** The fields of a new payment that its request and its route decide. */
export type NewPaymentFields = Omit<Payment, 'status' | 'history' | 'updated_at' | 'effects'>

/** A request for a payment. The gateway has validated its form. Every withdrawal has a beneficiary, a deposit has none. */
export interface CreatePaymentRequest
  extends Pick<NewPaymentFields, 'merchant_id' | 'environment' | 'service_id' | 'direction' | 'c_id'>,
    Pick<NewPaymentFields, 'amount' | 'currency' | 'details' | 'beneficiary' | 'webhook'> {
  readonly policy: Policy
  /** The hash of the merchant's canonical request. Every withdrawal has one. */
  readonly payload_hash?: string | undefined
}

/** A new deposit: it goes to its provider, is announced, and expires at `expires_at` (P8). Pure. */
export function beginDeposit(fields: NewPaymentFields & { readonly expires_at: Date }): Payment {
  return withCreatedStatus(fields, fields.created_at)
}

/** A new withdrawal. Merchants do not see it until the ledger has admitted its hold (P3). Pure. */
export function beginWithdrawal(fields: NewPaymentFields, payload_mac: string): ReservingWithdrawal {
  const { created_at: at } = fields
  const effects = [holdFundsEffect.newEffect(fields, { hold_id: holdIdOf(fields) }, { at })]
  return { ...fields, status: 'reserving', payload_mac, history: [], updated_at: at, effects }
}

/**
 * A payment with its first public status, and the effects that follow from it: the create, the event, and what ends or
 * reports a payment that stays open. `at` is when the ledger admitted a withdrawal; its history begins with its request all the
 * same (E15). Pure.
 */
export function withCreatedStatus(fields: NewPaymentFields, at: Date): Payment {
  const payment: Payment = {
    ...fields,
    status: 'created',
    history: [{ status: 'created', at: fields.created_at, amount: fields.amount }],
    updated_at: at,
    effects: [],
  }
  const effects = [
    createAtProviderEffect.newEffect(payment, {}, { at }),
    newEventEffect(payment, 'payment.created', { at }),
    newResultLimit(payment, undefined, at),
    // A withdrawal that its backup had before it was admitted may have been sent since (P19).
    ...(payment.restored === 'asking_accounts'
      ? [findRestoredEffect.newEffect(payment, { since: at }, { at })]
      : []),
  ]
  return { ...payment, effects }
}
