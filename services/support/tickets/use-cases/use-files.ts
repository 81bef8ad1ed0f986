import { storePending } from '../../comments/use-cases/comments.ts'
import { hasFile } from '../../domain/support-resource.ts'
import type { AttachmentUse } from '../../use-cases/attachment-use.ts'
import { findTicketOrSuccessor } from '../store/tickets.ts'
import type { TicketDeps } from './update-ticket.ts'

/**
 * Whether a ticket was stored and has a file (F7). It keeps its files as long as it exists, even after the operator has deleted it
 * and another ticket has taken its place.
 */
export async function isUsedByTicket(
  { tickets }: Pick<TicketDeps, 'tickets'>,
  { merchant_id, environment, attachment_id }: AttachmentUse,
  id: string,
): Promise<boolean> {
  const ticket = await findTicketOrSuccessor(tickets, { merchant_id, environment, id })
  // A call claims the files of the ticket that it stores and no others, so a ticket that was replaced had the file.
  return ticket !== undefined && (ticket.ticket_id !== id || hasFile(ticket.attachments, attachment_id))
}

/** Whether a comment was stored and has a file (F7). A comment that its ticket has accepted is stored first. */
export async function isUsedByComment(
  { tickets, comments }: Pick<TicketDeps, 'tickets' | 'comments'>,
  { merchant_id, environment, attachment_id, ticket_id }: AttachmentUse,
  comment_id: string,
): Promise<boolean> {
  const ticket = await findTicketOrSuccessor(tickets, { merchant_id, environment, id: ticket_id })
  if (ticket) await storePending(comments, ticket)
  const comment = await comments.get({ merchant_id, environment, thread_id: ticket_id, comment_id })
  return comment !== undefined && hasFile(comment.attachments, attachment_id)
}
