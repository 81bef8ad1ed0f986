import type { Client } from '@connectrpc/connect'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import type { ResourceQuery } from '../../domain/support-resource.ts'
import type { SupportDeps } from '../../use-cases/deps.ts'
import { type Mutation, runMutation } from '../../use-cases/mutation.ts'
import { editDescription, reopenTicket } from '../domain/change-ticket.ts'
import type { Ticket } from '../domain/ticket.ts'
import { keyOfTicket } from '../store/tickets.ts'
import { findTicket } from './find-ticket.ts'

/** What the use cases of tickets need. */
export interface TicketDeps extends SupportDeps {
  readonly tickets: Collection<Ticket>
  readonly comments: Collection<Comment>
  /** Writes tickets and runs their effects. */
  readonly runner: EffectRunner<Ticket>
  readonly payments: Pick<Client<typeof PaymentService>, 'findPayment'>
}

/**
 * Applies a change to a ticket that was just found, and runs the effects that follow. `change` is pure and gets the time
 * of the change; `undefined` from it means that nothing changes. Throws 10001 when the ticket was deleted meanwhile.
 */
export async function updateTicket(
  { runner }: Pick<TicketDeps, 'runner'>,
  found: Stored<Ticket>,
  change: (ticket: Stored<Ticket>, at: Date) => Ticket | undefined,
): Promise<Stored<Ticket>> {
  const stored = await runner.update(
    keyOfTicket(found),
    (current) => {
      // A new ticket may have the place of a deleted one by now.
      if (current.ticket_id !== found.ticket_id || current.deleted_at) throw new PublicError(10001)
      return change(current, now())
    },
    found,
  )
  if (!stored) throw new PublicError(10001)
  return runner.runEffects(stored)
}

/** A merchant's mutation of one of its tickets. */
export interface TicketMutation extends Mutation {
  readonly ticket: ResourceQuery
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
