import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'
import { isEditable, OPERATIONS_MAX } from '../../domain/support-resource.ts'
import { canMove, canReopen, slaDeadline, type Ticket, withListing } from './ticket.ts'
import { announce } from './ticket-event.ts'

/*
 * The changes of a ticket. Each returns the changed ticket with its effects, or `undefined` when there is nothing to
 * change, because the ticket is so already or the operation has acted before. All are pure.
 */

/** The operator's change of status (S4). Throws 10003 for a change that is not permitted. */
export function moveTicket(ticket: Ticket, to: TicketStatus, at: Date): Ticket | undefined {
  if (ticket.status === to) return undefined
  if (!canMove(ticket.status, to)) throw new PublicError(10003)
  return announce(changed({ ...ticket, status: to }, at), { event: 'ticket.status_changed', at })
}

/** The merchant's reopening (S4). Throws 10003 for a ticket that is neither resolved nor closed. */
export function reopenTicket(ticket: Ticket, operation_id: string, at: Date): Ticket | undefined {
  if (ticket.reopens.includes(operation_id)) return undefined
  if (!canReopen(ticket.status) || ticket.reopens.length >= OPERATIONS_MAX) throw new PublicError(10003)
  const reopened: Ticket = { ...ticket, status: 'open', reopens: [...ticket.reopens, operation_id] }
  return announce(changed(reopened, at), { event: 'ticket.reopened', at })
}

/** The merchant's new description. Throws 10004 when the hour for it is over, or after 100 edits. */
export function editDescription(
  ticket: Ticket,
  description: string,
  operation_id: string,
  at: Date,
): Ticket | undefined {
  if (ticket.edits.includes(operation_id)) return undefined
  if (!isEditable(ticket, at)) throw new PublicError(10004)
  const edited = { ...ticket, description, edits: [...ticket.edits, operation_id] }
  return announce(changed(edited, at), { event: 'ticket.updated', at })
}

/** The operator's new priority, and with it the deadline, which runs from the creation (S5). */
export function setPriority(ticket: Ticket, priority: TicketPriority, at: Date): Ticket | undefined {
  if (ticket.priority === priority) return undefined
  const sla_deadline = slaDeadline(priority, ticket.created_at)
  return announce(changed({ ...ticket, priority, sla_deadline }, at), { event: 'ticket.updated', at })
}

/** The operator's deletion, which no event tells. */
export function deleteTicket(ticket: Ticket, at: Date): Ticket {
  return withListing({ ...ticket, deleted_at: at, updated_at: at })
}

function changed(ticket: Ticket, at: Date): Ticket {
  return withListing({ ...ticket, updated_at: at, last_activity_at: at })
}
