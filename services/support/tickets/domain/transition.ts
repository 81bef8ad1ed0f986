import type { TicketStatus } from '#lib/contract/ticket.ts'
import { countStatusEffect } from '../../domain/counted-resource.ts'
import type { Ticket } from './ticket.ts'

/**
 * Returns the ticket in another status, with the effect that counts the change (S11). `from` is the status that it had as
 * the summary knows it: empty before the creation, and `to` is empty for the deletion. Callers check that the change is
 * permitted, and announce it.
 */
export function transition(ticket: Ticket, from: TicketStatus | '', to: TicketStatus | '', at: Date): Ticket {
  const transition_number = ticket.transition_number + 1
  const { created_at } = ticket
  const counted = { resource_id: ticket.ticket_id, transition_number }
  const count = countStatusEffect.newEffect(counted, { from, to, created_at }, { at })
  return {
    ...ticket,
    ...(to === '' ? {} : { status: to }),
    transition_number,
    uncounted_since: ticket.uncounted_since ?? at,
    effects: [...ticket.effects, count],
  }
}
