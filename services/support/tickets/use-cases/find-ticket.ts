import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Collection, Stored } from '#lib/platform/store/store.ts'
import type { Ticket } from '../domain/ticket.ts'
import { findTicketBy, type TicketQuery } from '../store/tickets.ts'

/** Finds a merchant's ticket. Throws 10001, also for a ticket of another merchant or environment. */
export async function findTicket(tickets: Collection<Ticket>, query: TicketQuery): Promise<Stored<Ticket>> {
  const ticket = await findTicketBy(tickets, query)
  if (!ticket) throw new PublicError(10001)
  return ticket
}
