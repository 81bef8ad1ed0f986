import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update } from '#lib/patterns/update.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Comment, editComment } from '../../comments/domain/comment.ts'
import { keyOfComment } from '../../comments/store/comments.ts'
import { type CommentDeps, findComment } from '../../comments/use-cases/comments.ts'
import { runMutation } from '../../use-cases/mutation.ts'
import { commentTicket } from '../domain/comment-ticket.ts'
import type { Ticket } from '../domain/ticket.ts'
import { findTicket, getTicket } from './find-ticket.ts'
import { type TicketDeps, type TicketMutation, updateTicket } from './update-ticket.ts'

/** The tickets as the threads of comments. */
export function ticketComments(deps: TicketDeps): CommentDeps<Ticket> {
  return {
    ...deps,
    kind: 'ticket',
    idOf: ({ ticket_id }) => ticket_id,
    find: (query) => findTicket(deps.tickets, query),
    get: (ticket_id) => getTicket(deps.tickets, ticket_id),
    addComment: commentTicket,
    update: (found, change) => updateTicket(deps, found, change),
  }
}

/**
 * The merchant's `ticket.comment.update`, once per operation. Throws 1013, 10001 for a comment that the merchant does not
 * see, 10003 for one of the operator, and 10004 later than an hour after its creation.
 */
export async function updateComment(
  deps: TicketDeps,
  request: TicketMutation & { readonly comment_id: string; readonly body: string },
): Promise<Stored<Comment>> {
  const find = async (comment_id: string): Promise<Stored<Comment>> => {
    const ticket = await findTicket(deps.tickets, request.ticket)
    const comment = await findComment(ticketComments(deps), ticket, comment_id)
    if (!comment?.shown_at) throw new PublicError(10001)
    return comment
  }
  const comment_id = await runMutation(deps.idempotency, 'ticket.comment.update', request, async (id) => {
    const comment = await find(request.comment_id)
    const decide = (current: Comment): Comment | undefined =>
      editComment(current, request.body, id('operation'), now())
    await update(deps.comments, keyOfComment(comment), decide, comment)
    return comment.comment_id
  })
  return find(comment_id)
}
