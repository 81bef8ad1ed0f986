import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Payment } from './payment.ts'
import {
  captureHoldEffect,
  creditLedgerEffect,
  expirePaymentEffect,
  pollProviderEffect,
  releaseHoldEffect,
  repeatCreateEffect,
  reportOpenEffect,
} from './payment-effects.ts'
import { newEventEffect } from './payment-event.ts'
import { canTransition, EVENT_OF } from './transition-table.ts'

/** The details of a transition. */
export interface TransitionDetails {
  readonly at: Date
  readonly error_code?: ErrorCode
  /** The provider's own time of a success (spec: Payment object). */
  readonly finished_at?: Date
  /** The amount in the history: that of the refund which caused the transition; that of the payment unless given. */
  readonly amount?: bigint
  /** The ledger entry that a refund demands. That of any other transition follows from the status. */
  readonly entry?: Effect
}

/**
 * Returns the payment in its next status, with the effects that must follow: the ledger entry first, then the event
 * (P9). Pure. Throws when the table forbids the transition; callers check `canTransition` first.
 */
export function transition(
  payment: Payment,
  status: PaymentStatus,
  { at, error_code, finished_at, amount = payment.amount, entry }: TransitionDetails,
): Payment {
  if (!canTransition(payment, status))
    throw new Error(`forbidden payment transition from ${payment.status} to ${status}`)
  const is_final = isFinal(status)
  const changed: Payment = {
    ...payment,
    status,
    transition_number: payment.transition_number + 1,
    updated_at: at,
    history: [...payment.history, { status, at, amount, ...reasonOf(error_code) }],
    ...(error_code === undefined ? {} : { error_code }),
    ...(is_final ? { finished_at: payment.finished_at ?? finished_at ?? at } : {}),
  }
  const kept = is_final
    ? payment.effects.filter((effect) => !isForUnfinishedPayment(effect))
    : payment.effects
  return { ...changed, effects: [...kept, ...effectsOf(changed, at, entry)] }
}

/**
 * Whether the effect has no purpose once the payment is final: polls, the report of an open withdrawal, and the
 * repeated create and the expiry before their first try. After it their provider call may be in progress, and its
 * response may contradict the end of the payment (P7).
 */
function isForUnfinishedPayment(effect: Effect): boolean {
  if ([repeatCreateEffect, expirePaymentEffect].some(({ matches }) => matches(effect)))
    return effect.tries === 0
  return [pollProviderEffect, reportOpenEffect].some(({ matches }) => matches(effect))
}

/** The reason in the words of the error table, so that the merchant finds the same text under the error code. */
function reasonOf(error_code: ErrorCode | undefined): { readonly reason?: string } {
  return error_code === undefined ? {} : { reason: ERROR_TABLE[error_code].message }
}

/** The ledger entry that the status demands, and the event, which waits for the entry. */
function effectsOf(payment: Payment, at: Date, refund_entry: Effect | undefined): Effect[] {
  const entry = refund_entry ?? ledgerEffectOf(payment, at)
  const name = EVENT_OF[payment.status]
  const event = name && newEventEffect(payment, name, { at, after: entry?.id })
  return [entry, event].filter((effect) => effect !== undefined)
}

/**
 * A successful deposit is credited. The hold of a withdrawal is captured when it succeeds, and released when it fails.
 */
function ledgerEffectOf(payment: Payment, at: Date): Effect | undefined {
  const { direction, status } = payment
  if (direction === 'in')
    return status === 'success' ? creditLedgerEffect.newEffect(payment, {}, { at }) : undefined
  if (!isFinal(status)) return undefined
  const resolution = status === 'success' ? captureHoldEffect : releaseHoldEffect
  return resolution.newEffect(payment, {}, { at })
}
