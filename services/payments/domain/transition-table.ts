import type { Direction } from '#lib/contract/direction.ts'
import type { EventName } from '#lib/contract/events.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import type { Payment } from './payment.ts'

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
