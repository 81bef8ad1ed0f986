import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Stored } from '#lib/platform/store/store.ts'
import { addComment, type NewCommentFields } from '../domain/add-comment.ts'
import type { Comment } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'
import { storeCommentEffect } from '../domain/ticket-effects.ts'
import { keyOfComment, storeComment } from '../store/comments.ts'
import type { TicketDeps } from './deps.ts'
import { updateTicket } from './update-ticket.ts'

/** How often other changes of the ticket can come between its reading and its writing. */
const TRIES_MAX = 100

/**
 * Adds a comment to a ticket, once per `comment_id`. Its ticket accepts it in one guarded write, which also decides its
 * status and its event; an effect of that write stores it. `find` reads the ticket, and throws 10001 when there is none.
 * `assertHeld` is that of the claim of its files. Throws 10003 when the ticket takes no comments.
 */
export async function acceptComment(
  deps: TicketDeps,
  find: () => Promise<Stored<Ticket>>,
  fields: NewCommentFields,
  assertHeld: () => void = () => {},
): Promise<Stored<Comment>> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const ticket = await find()
    // Read after the ticket: a comment that it had accepted before this read is pending in it or stored.
    const stored = (await storePending(deps, ticket, fields.comment_id)) ?? (await read(deps, ticket, fields))
    if (stored) return stored
    await updateTicket(deps, ticket, (current, at) => {
      assertHeld()
      return current.version === ticket.version ? addComment(current, fields, at) : undefined
    })
  }
  throw new Unavailable(`other changes of a ticket were faster ${TRIES_MAX} times; try again`)
}

function read(
  { comments }: TicketDeps,
  { merchant_id, environment, ticket_id }: Ticket,
  { comment_id }: NewCommentFields,
): Promise<Stored<Comment> | undefined> {
  return comments.get(keyOfComment({ merchant_id, environment, ticket_id, comment_id }))
}

/**
 * Stores the accepted comments of a ticket whose effects have not run yet, so that a list shows every comment that it
 * must show. Returns the one with `comment_id`, if it was among them.
 */
export async function storePending(
  { comments }: Pick<TicketDeps, 'comments'>,
  ticket: Ticket,
  comment_id?: string,
): Promise<Stored<Comment> | undefined> {
  const pending = ticket.effects.flatMap((effect) => storeCommentEffect.dataOf(effect) ?? [])
  for (const { comment } of pending) await storeComment(comments, comment)
  const wanted = pending.find(({ comment }) => comment.comment_id === comment_id)
  return wanted && comments.get(keyOfComment(wanted.comment))
}
