import { asErased, erasedText, withoutName } from '../../domain/erasure.ts'
import { isUnresolved, type Ticket } from './ticket.ts'

/** The ticket without its texts and the names of its files (O11). Ids, categories, statuses and times stay. Pure. Throws 8801. */
export function eraseTicket(ticket: Ticket, at: Date): Ticket {
  const { title, description, attachments } = ticket
  const erased = {
    ...ticket,
    title: erasedText(title),
    description: erasedText(description),
    attachments: attachments.map(withoutName),
  }
  return asErased(erased, ticket.ticket_id, at)
}

/** Since when a ticket is over, with its last activity and comment; `undefined` while it is open. Pure. */
export function ticketEndedSince(ticket: Ticket): Date | undefined {
  const { deleted_at, last_activity_at, last_comment_at = last_activity_at } = ticket
  if (deleted_at !== undefined) return deleted_at
  if (isUnresolved(ticket)) return undefined
  return new Date(Math.max(last_activity_at.getTime(), last_comment_at.getTime()))
}
