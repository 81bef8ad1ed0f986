import type { TicketStatus } from '#lib/contract/ticket.ts'

/** Every change of status that the operator can make (S4). */
const OPERATOR_TRANSITIONS: Readonly<Record<TicketStatus, readonly TicketStatus[]>> = {
  open: ['in_progress', 'waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  in_progress: ['waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  waiting_customer: ['in_progress', 'on_hold', 'resolved', 'closed', 'canceled'],
  on_hold: ['in_progress', 'waiting_customer', 'resolved', 'closed', 'canceled'],
  resolved: ['closed'],
  closed: [],
  canceled: [],
}

/** Whether the operator can move a ticket between two statuses (S4). */
export function canMove(from: TicketStatus, to: TicketStatus): boolean {
  return OPERATOR_TRANSITIONS[from].includes(to)
}

/** Whether the merchant can reopen a ticket (S4). */
export function canReopen(status: TicketStatus): boolean {
  return status === 'resolved' || status === 'closed'
}

/** Whether a ticket takes comments that the merchant sees (S4). */
export function takesComments(status: TicketStatus): boolean {
  return status !== 'closed' && status !== 'canceled'
}
