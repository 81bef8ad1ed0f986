import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { EventName } from '#lib/contract/events.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Payment } from './payment.ts'
import { effectsAfterEnd, newEndEntry } from './payment-effects.ts'
import { newEventEffect } from './payment-event.ts'

type Transitions = Readonly<Record<PaymentStatus, readonly PaymentStatus[]>>

const NONE: Transitions = {
  created: [],
  processing: [],
  success: [],
  error: [],
  canceled: [],
  declined: [],
  refunded: [],
  partially_refunded: [],
}

/**
 * Every transition that a payment can make; all others are forbidden (P6). Only deposits expire (`declined`, P8) and
 * are refunded.
 */
const TRANSITIONS: Readonly<Record<Direction, Transitions>> = {
  in: {
    ...NONE,
    created: ['processing', 'success', 'error', 'canceled', 'declined'],
    processing: ['success', 'error', 'canceled', 'declined'],
    success: ['partially_refunded', 'refunded'],
    partially_refunded: ['partially_refunded', 'refunded'],
  },
  out: {
    ...NONE,
    created: ['processing', 'success', 'error', 'canceled'],
    processing: ['success', 'error', 'canceled'],
  },
}

/** Whether the table allows the payment this transition. */
export function canTransition(
  { direction, status }: Pick<Payment, 'direction' | 'status'>,
  to: PaymentStatus,
): boolean {
  return TRANSITIONS[direction][status].includes(to)
}

/** The event of each status that a payment enters (P10). Entering `processing` has no event. */
export const EVENT_OF: Readonly<Record<PaymentStatus, EventName | undefined>> = {
  created: 'payment.created',
  processing: undefined,
  success: 'payment.completed',
  error: 'payment.failed',
  declined: 'payment.failed',
  canceled: 'payment.cancelled',
  refunded: 'payment.refunded',
  partially_refunded: 'payment.refunded',
}

/** The details of a transition. */
export interface TransitionDetails {
  readonly at: Date
  readonly error_code?: ErrorCode
  /** The provider's own time of a success (spec: Payment object). */
  readonly finished_at?: Date
  /** The amount in the history: that of the refund which caused the transition; that of the payment unless given. */
  readonly amount?: bigint
  /** The ledger entry that a refund demands. That of any other transition follows from the status. */
  readonly entry?: Effect | undefined
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
  const kept = is_final ? effectsAfterEnd(payment.effects, undefined) : payment.effects
  return { ...changed, effects: [...kept, ...effectsOf(changed, at, entry)] }
}

/** The reason in the words of the error table, so that the merchant finds the same text under the error code. */
function reasonOf(error_code: ErrorCode | undefined): { readonly reason?: string } {
  return error_code === undefined ? {} : { reason: ERROR_TABLE[error_code].message }
}

/** The ledger entry that the status demands, and the event, which waits for the entry. */
function effectsOf(payment: Payment, at: Date, refund_entry: Effect | undefined): Effect[] {
  const { status } = payment
  const own_entry = isFinal(status) ? newEndEntry(payment, undefined, status === 'success', at) : undefined
  const entry = refund_entry ?? own_entry
  const name = EVENT_OF[status]
  const event = name && newEventEffect(payment, name, { at, after: entry?.id })
  return [entry, event].filter((effect) => effect !== undefined)
}
