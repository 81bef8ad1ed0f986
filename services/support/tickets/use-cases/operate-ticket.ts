import type { TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'
import { deleteTicket, moveTicket, setPriority } from '../domain/change-ticket.ts'
import type { Ticket } from '../domain/ticket.ts'
import { getTicket } from './find-ticket.ts'
import { type TicketDeps, updateTicket } from './update-ticket.ts'

/*
 * What the operator does with tickets. A ticket that has the status or the priority already stays as it is; deleting a ticket
 * again is refused with 10001.
 */

/** Gives a ticket another status (S4). Throws 10001, and 10003 for a change that is not permitted. */
export async function move(deps: TicketDeps, ticket_id: string, status: TicketStatus): Promise<Ticket> {
  const found = await getTicket(deps.tickets, ticket_id)
  return updateTicket(deps, found, (ticket, at) => moveTicket(ticket, status, at))
}

/** Gives a ticket another priority and deadline (S5). Throws 10001. */
export async function prioritize(
  deps: TicketDeps,
  ticket_id: string,
  priority: TicketPriority,
): Promise<Ticket> {
  const found = await getTicket(deps.tickets, ticket_id)
  return updateTicket(deps, found, (ticket, at) => setPriority(ticket, priority, at))
}

/** Deletes a ticket, so that its payment can have another one (S2). Throws 10001, also for a deleted ticket. */
export async function remove(deps: TicketDeps, ticket_id: string): Promise<void> {
  const found = await getTicket(deps.tickets, ticket_id)
  await updateTicket(deps, found, deleteTicket)
}
