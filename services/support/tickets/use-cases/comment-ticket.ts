import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update } from '#lib/patterns/update.ts'
import type { Stored } from '#lib/store/store.ts'
import { withClaimed } from '../../use-cases/claim-attachments.ts'
import { runMutation } from '../../use-cases/mutation.ts'
import { editComment } from '../domain/add-comment.ts'
import type { Comment } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'
import { keyOfComment } from '../store/comments.ts'
import { acceptComment, storeAccepted } from './add-comment.ts'
import type { TicketDeps } from './deps.ts'
import type { TicketMutation } from './edit-ticket.ts'
import { findTicket } from './find-ticket.ts'

/** A merchant's new comment. */
export interface CommentRequest extends TicketMutation {
  readonly body: string
  readonly attachment_ids: readonly string[]
}

/**
 * The merchant's `ticket.comment.create`, once per operation. A repetition gets the comment as it is by then. Throws 1013,
 * 10001, 13001 to 13004 and 9000 for a file that cannot be used, and 10003 for a closed or canceled ticket.
 */
export async function createComment(deps: TicketDeps, request: CommentRequest): Promise<Stored<Comment>> {
  const find = (): Promise<Stored<Ticket>> => findTicket(deps.tickets, request.ticket)
  const comment_id = await runMutation(deps.idempotency, 'ticket.comment.create', request, async (id) => {
    const { ticket_id } = await find()
    const fields = { comment_id: id('comment'), author: 'merchant', body: request.body } as const
    const claim_owner = `comment:${fields.comment_id}`
    const claim = { ...request, claim_owner, ticket_id, purpose: 'ticket_comment' } as const
    await withClaimed(deps.attachments, claim, ({ files: attachments, assertHeld }) =>
      acceptComment(deps, find, { ...fields, attachments, is_internal: false }, assertHeld),
    )
    return fields.comment_id
  })
  return findShownComment(deps, await find(), comment_id)
}

/**
 * The merchant's `ticket.comment.update`, once per operation. Throws 1013, 10001 for a comment that the merchant does not
 * see, 10003 for one of the operator, and 10004 later than an hour after its creation.
 */
export async function updateComment(
  deps: TicketDeps,
  request: TicketMutation & { readonly comment_id: string; readonly body: string },
): Promise<Stored<Comment>> {
  const find = (): Promise<Stored<Ticket>> => findTicket(deps.tickets, request.ticket)
  const comment_id = await runMutation(deps.idempotency, 'ticket.comment.update', request, async (id) => {
    const comment = await findShownComment(deps, await find(), request.comment_id)
    const decide = (current: Comment): Comment | undefined =>
      editComment(current, request.body, id('operation'), now())
    await update(deps.comments, keyOfComment(comment), decide, comment)
    return comment.comment_id
  })
  return findShownComment(deps, await find(), comment_id)
}

/** Reads a comment that the merchant sees, also one that its ticket has accepted but not stored yet. Throws 10001 for any other. */
async function findShownComment(
  deps: TicketDeps,
  ticket: Ticket,
  comment_id: string,
): Promise<Stored<Comment>> {
  const { merchant_id, environment, ticket_id } = ticket
  await storeAccepted(deps, ticket)
  const comment = await deps.comments.get(keyOfComment({ merchant_id, environment, ticket_id, comment_id }))
  if (!comment?.shown_at) throw new PublicError(10001)
  return comment
}
