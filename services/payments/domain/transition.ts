import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Payment, Refund } from './payment.ts'
import { effectsAfterEnd, newEndEntry } from './payment-effects.ts'
import { EVENT_OF, newEventEffect } from './payment-event.ts'

type Transitions = Readonly<Partial<Record<PaymentStatus, readonly PaymentStatus[]>>>

/**
 * Every transition that a payment can make; all others are forbidden (P6). Only deposits expire (`declined`, P8) and
 * are refunded.
 */
const TRANSITIONS: Readonly<Record<Direction, Transitions>> = {
  in: {
    created: ['processing', 'success', 'error', 'canceled', 'declined'],
    processing: ['success', 'error', 'canceled', 'declined'],
    success: ['partially_refunded', 'refunded'],
    partially_refunded: ['partially_refunded', 'refunded'],
  },
  out: {
    created: ['processing', 'success', 'error', 'canceled'],
    processing: ['success', 'error', 'canceled'],
  },
}

/** Whether the table allows the payment this transition. */
export function canTransition(
  { direction, status }: Pick<Payment, 'direction' | 'status'>,
  to: PaymentStatus,
): boolean {
  return TRANSITIONS[direction][status]?.includes(to) ?? false
}

/** The details of a transition. */
export interface TransitionDetails {
  readonly at: Date
  readonly error_code?: ErrorCode | undefined
  /** The provider's own time of a success (spec: Payment object). */
  readonly finished_at?: Date
  /** The refund that caused the transition, with its ledger entry. The entry of the payment's end follows from its status. */
  readonly refund?: Pick<Refund, 'refund_id' | 'amount'> & { readonly entry: Effect | undefined }
}

/**
 * Returns the payment in its next status, with the effects that must follow: the ledger entry first, then the event
 * (P9). Pure. Throws when the table forbids the transition; callers check `canTransition` first.
 */
export function transition(
  payment: Payment,
  status: PaymentStatus,
  { at, error_code, finished_at, refund }: TransitionDetails,
): Payment {
  if (!canTransition(payment, status))
    throw new Error(`forbidden payment transition from ${payment.status} to ${status}`)
  // A refund changes the status of a payment that has ended.
  const is_end = isFinal(status) && !isFinal(payment.status)
  const changed: Payment = {
    ...payment,
    status,
    updated_at: at,
    // The words of the error table: the merchant finds the same text under the error code.
    history: [
      ...payment.history,
      {
        status,
        at,
        amount: refund?.amount ?? payment.amount,
        reason: error_code && ERROR_TABLE[error_code].message,
      },
    ],
    error_code: error_code ?? payment.error_code,
    finished_at: payment.finished_at ?? (isFinal(status) ? (finished_at ?? at) : undefined),
  }
  const entry = is_end ? newEndEntry(changed, undefined, status === 'success', at) : refund?.entry
  const name = EVENT_OF[status]
  const event = name && newEventEffect(changed, name, { at, after: entry?.id, refund_id: refund?.refund_id })
  const kept = is_end ? effectsAfterEnd(payment.effects, undefined) : payment.effects
  return { ...changed, effects: [...kept, entry, event].filter((effect) => effect !== undefined) }
}
