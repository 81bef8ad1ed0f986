import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { ResourceQuery } from '../../domain/support-resource.ts'
import type { Ticket } from '../domain/ticket.ts'
import { findTicketBy, findTicketById } from '../store/tickets.ts'

/** Finds a merchant's ticket. Throws 10001, also for a deleted ticket, and for a ticket of another merchant or environment. */
export async function findTicket(tickets: Collection<Ticket>, query: ResourceQuery): Promise<Stored<Ticket>> {
  return undeleted(await findTicketBy(tickets, query))
}

/** Finds a ticket of any merchant, for the operator. Throws 10001, also for a deleted one. */
export async function getTicket(tickets: Collection<Ticket>, ticket_id: string): Promise<Stored<Ticket>> {
  return undeleted(await findTicketById(tickets, ticket_id))
}

function undeleted(ticket: Stored<Ticket> | undefined): Stored<Ticket> {
  if (!ticket || ticket.deleted_at) throw new PublicError(10001)
  return ticket
}
