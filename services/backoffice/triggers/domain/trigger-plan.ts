import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type EventName, PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import type { EnumName } from '#lib/contract/proto-fields.ts'
import type { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import type { TicketStatus } from '#lib/contract/ticket.ts'
import type { Outcome } from './test-amount.ts'

type RefundStatus = EnumName<typeof REFUND_STATUSES>

/** One thing that leads to an event. Each step can be repeated, and then does nothing twice. */
export type Step =
  /** A deposit, which must have this outcome before the next step. */
  | { readonly do: 'pay'; readonly outcome: Outcome }
  /** A refund of the whole deposit or of half of it. */
  | { readonly do: 'request_refund'; readonly part: 'all' | 'half' }
  /** The operator's decision about the refund, and the status that it must enter. */
  | {
      readonly do: 'decide_refund'
      readonly decision: 'approve' | 'reject' | 'cancel'
      readonly until: readonly RefundStatus[]
    }
  | { readonly do: 'open_chargeback' }
  | { readonly do: 'create_ticket' }
  | { readonly do: 'edit_ticket' }
  | { readonly do: 'move_ticket'; readonly to: TicketStatus }
  | { readonly do: 'answer_ticket' }
  | { readonly do: 'reopen_ticket' }

type Steps = readonly Step[]

const pay = (outcome: Outcome): Step => ({ do: 'pay', outcome })
const TICKET: Step = { do: 'create_ticket' }
const REFUND: Step = { do: 'request_refund', part: 'all' }
const APPROVED: Step = { do: 'decide_refund', decision: 'approve', until: ['completed'] }

const decided = (decision: 'reject' | 'cancel', status: RefundStatus): Steps => [
  pay('paid'),
  REFUND,
  { do: 'decide_refund', decision, until: [status] },
]

const moved = (to: TicketStatus): Steps => [TICKET, { do: 'move_ticket', to }]

/** The steps to each event, by the status that the event reports. A request without a status takes the first one. */
const PLANS: { readonly [E in EventName]: Readonly<Record<string, Steps>> } = {
  'payment.created': { created: [pay('any')] },
  'payment.completed': { success: [pay('paid')] },
  'payment.failed': { error: [pay('fails')], declined: [pay('expires')] },
  'payment.cancelled': { canceled: [pay('canceled')] },
  'payment.refunded': {
    refunded: [pay('paid'), REFUND, APPROVED],
    partially_refunded: [pay('paid'), { do: 'request_refund', part: 'half' }, APPROVED],
  },
  'ticket.created': { open: [TICKET] },
  'ticket.updated': { open: [TICKET, { do: 'edit_ticket' }] },
  'ticket.status_changed': {
    in_progress: moved('in_progress'),
    waiting_customer: moved('waiting_customer'),
    on_hold: moved('on_hold'),
    resolved: moved('resolved'),
    closed: moved('closed'),
    canceled: moved('canceled'),
  },
  'ticket.comment.created': { open: [TICKET, { do: 'answer_ticket' }] },
  'ticket.reopened': { open: [TICKET, { do: 'reopen_ticket' }] },
  'refund.requested': { pending: [pay('paid'), REFUND] },
  'refund.status_changed': {
    completed: [pay('paid'), REFUND, APPROVED],
    // Whatever comes after the approval.
    approved: [
      pay('paid'),
      REFUND,
      { do: 'decide_refund', decision: 'approve', until: ['approved', 'completed'] },
    ],
    rejected: decided('reject', 'rejected'),
    canceled: decided('cancel', 'canceled'),
    failed: [
      pay('paid_refund_fails'),
      REFUND,
      { do: 'decide_refund', decision: 'approve', until: ['failed'] },
    ],
  },
  'chargeback.created': { open: [pay('paid'), { do: 'open_chargeback' }] },
}

/** Every event that can be triggered. */
export const TRIGGERED_EVENTS: readonly EventName[] = [...PAYMENT_EVENTS, ...SUPPORT_EVENTS]

/** The statuses that an event can report. */
export function statusesOf(event: EventName): readonly string[] {
  return Object.keys(PLANS[event])
}

/** The steps to an event. Throws 9000 for an unknown event, and for a status that it does not report. */
export function planOf(name: string, status: string): Steps {
  const event = TRIGGERED_EVENTS.find((one) => one === name)
  if (event === undefined) throw fieldError(9000, 'event', `one of ${TRIGGERED_EVENTS.join(', ')}`)
  const statuses = statusesOf(event)
  const steps = PLANS[event][status === '' ? (statuses[0] ?? '') : status]
  if (steps === undefined || !(status === '' || statuses.includes(status)))
    throw fieldError(9000, 'status', `for ${event} one of ${statuses.join(', ')}`)
  return steps
}
