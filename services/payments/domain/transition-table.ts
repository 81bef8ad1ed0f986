import type { EventName } from '#lib/contract/events.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'

/** Every transition that a payment can make; all others are forbidden (P6). */
const TRANSITIONS: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  created: ['processing', 'success', 'error', 'canceled', 'declined'],
  processing: ['success', 'error', 'canceled', 'declined'],
  success: ['partially_refunded', 'refunded'],
  partially_refunded: ['partially_refunded', 'refunded'],
  error: [],
  canceled: [],
  declined: [],
  refunded: [],
}

/** Whether the table allows a transition. */
export function canTransition(from: PaymentStatus, to: PaymentStatus): boolean {
  return TRANSITIONS[from].includes(to)
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
