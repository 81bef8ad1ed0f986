import type { Stored } from '#lib/store/store.ts'
import { type Mutation, runMutation } from '../../use-cases/mutation.ts'
import { editDescription, reopenTicket } from '../domain/change-ticket.ts'
import type { Ticket } from '../domain/ticket.ts'
import type { TicketQuery } from '../store/tickets.ts'
import type { TicketDeps } from './deps.ts'
import { findTicket } from './find-ticket.ts'
import { updateTicket } from './update-ticket.ts'

/** A merchant's mutation of one of its tickets. */
export interface TicketMutation extends Mutation {
  readonly ticket: TicketQuery
}

/**
 * The merchant's `ticket.description.update`: replaces the description, once per operation. A repetition gets the ticket
 * as it is by then. Throws 1013, 10001, and 10004 later than an hour after the creation.
 */
export function updateDescription(
  deps: TicketDeps,
  request: TicketMutation & { readonly description: string },
): Promise<Stored<Ticket>> {
  return mutateTicket(deps, 'ticket.description.update', request, (ticket, operation_id, at) =>
    editDescription(ticket, request.description, operation_id, at),
  )
}

/** The merchant's `ticket.reopen`, once per operation. Throws 1013, 10001, and 10003 for a status that forbids it. */
export function reopen(deps: TicketDeps, request: TicketMutation): Promise<Stored<Ticket>> {
  return mutateTicket(deps, 'ticket.reopen', request, reopenTicket)
}

async function mutateTicket(
  deps: TicketDeps,
  method: 'ticket.description.update' | 'ticket.reopen',
  request: TicketMutation,
  change: (ticket: Ticket, operation_id: string, at: Date) => Ticket | undefined,
): Promise<Stored<Ticket>> {
  const ticket_id = await runMutation(deps.idempotency, method, request, async (id) => {
    const found = await findTicket(deps.tickets, request.ticket)
    await updateTicket(deps, found, (ticket, at) => change(ticket, id('operation'), at))
    return found.ticket_id
  })
  return findTicket(deps.tickets, { ...request.ticket, by: 'h_id', id: ticket_id })
}
