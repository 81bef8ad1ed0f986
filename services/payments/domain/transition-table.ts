import type { PaymentState } from './payment.ts'

/**
 * Every transition that a payment can make, and no other, ever (P6). The decisions, their tests and the documentation
 * read this table.
 */
export const TRANSITIONS: Readonly<Record<PaymentState, readonly PaymentState[]>> = {
  created: ['processing', 'success', 'error', 'canceled', 'declined'],
  processing: ['success', 'error', 'canceled', 'declined'],
  success: ['partially_refunded', 'refunded'],
  partially_refunded: ['partially_refunded', 'refunded'],
  error: [],
  canceled: [],
  declined: [],
  refunded: [],
}

/** Whether a payment may go from one state to another. */
export function mayGo(from: PaymentState, to: PaymentState): boolean {
  return TRANSITIONS[from].includes(to)
}

/** Whether the provider's part is over: its verdict can change nothing any more (P7). */
export function isSettled(state: PaymentState): boolean {
  return state !== 'created' && state !== 'processing'
}

/** The event that entering a state emits (P10); `processing` is a status and no event. */
export const EVENT_OF: Readonly<Record<PaymentState, string | undefined>> = {
  created: 'payment.created',
  processing: undefined,
  success: 'payment.completed',
  error: 'payment.failed',
  declined: 'payment.failed',
  canceled: 'payment.cancelled',
  refunded: 'payment.refunded',
  partially_refunded: 'payment.refunded',
}
