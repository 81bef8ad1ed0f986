import { PublicError } from '#lib/contract/errors/public-error.ts'
import { acceptComment, type NewCommentFields } from '../../comments/domain/comment.ts'
import type { Ticket } from './ticket.ts'
import { announce } from './ticket-event.ts'

/**
 * The ticket with one more comment, which an effect stores. A comment of the merchant moves a ticket that waits for it to
 * `in_progress` (S4). The merchant sees nothing of an internal note. Throws 10003 for a comment on a closed or canceled
 * ticket, but not for a note, and `Unavailable` while 500 of its effects wait.
 */
export function commentTicket(ticket: Ticket, fields: NewCommentFields, at: Date): Ticket {
  const is_over = ticket.status === 'closed' || ticket.status === 'canceled'
  if (is_over && !fields.is_internal) throw new PublicError(10003)
  const { accepted, comment, effect_id } = acceptComment(ticket, ticket.ticket_id, fields, at)
  if (fields.is_internal) return accepted
  const answers = fields.author === 'merchant' && ticket.status === 'waiting_customer'
  const moved: Ticket = {
    ...accepted,
    last_activity_at: at,
    ...(answers ? { status: 'in_progress', updated_at: at } : {}),
  }
  const announced = announce(moved, { event: 'ticket.comment.created', at, comment, after: effect_id })
  return answers ? announce(announced, { event: 'ticket.status_changed', at }) : announced
}
