import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import type { Ticket } from '../domain/ticket.ts'
import { keyOfTicket } from '../store/tickets.ts'
import type { TicketDeps } from './deps.ts'

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
