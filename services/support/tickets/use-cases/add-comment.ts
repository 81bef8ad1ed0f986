import type { Collection, Stored } from '#lib/store/store.ts'
import { acceptOnce, type CommentStorage, storePending } from '../../use-cases/accept-comment.ts'
import { addComment, type NewCommentFields } from '../domain/add-comment.ts'
import type { CarriedTicketComment, Comment } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'
import { storeCommentEffect } from '../domain/ticket-effects.ts'
import { keyOfComment, storeComment } from '../store/comments.ts'
import type { TicketDeps } from './deps.ts'
import { updateTicket } from './update-ticket.ts'

/**
 * Adds a comment to a ticket, once per `comment_id`. Its ticket accepts it in one guarded write, which also decides its
 * status and its event. `find` reads the ticket, and throws 10001 when there is none. `assertHeld` is that of the claim of
 * its files. Throws 10003 when the ticket takes no comments.
 */
export function acceptComment(
  deps: TicketDeps,
  find: () => Promise<Stored<Ticket>>,
  fields: NewCommentFields,
  assertHeld: () => void = () => {},
): Promise<Stored<Comment>> {
  const { comment_id } = fields
  return acceptOnce(storageOf(deps.comments), {
    comment_id,
    find,
    read: ({ merchant_id, environment, ticket_id }) =>
      deps.comments.get(keyOfComment({ merchant_id, environment, ticket_id, comment_id })),
    accept: (ticket) =>
      updateTicket(deps, ticket, (current, at) => {
        assertHeld()
        return current.version === ticket.version ? addComment(current, fields, at) : undefined
      }),
  })
}

/** Stores the accepted comments of a ticket whose effects have not run yet: whatever reads its comments does this first. */
export async function storeAccepted(
  { comments }: Pick<TicketDeps, 'comments'>,
  ticket: Ticket,
): Promise<void> {
  await storePending(storageOf(comments), ticket)
}

function storageOf(comments: Collection<Comment>): CommentStorage<Comment, CarriedTicketComment> {
  return { effect: storeCommentEffect, store: (comment) => storeComment(comments, comment) }
}
