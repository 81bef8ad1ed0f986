import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { openCursor, sealCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { checkPageSize, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import { update } from '#lib/patterns/update.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { acceptOnce, type CommentStorage, storePending } from '../../use-cases/accept-comment.ts'
import { withClaimed } from '../../use-cases/claim-attachments.ts'
import type { CursorPage, CursorRequest } from '../../use-cases/list-resources.ts'
import { runMutation } from '../../use-cases/mutation.ts'
import { addComment, editComment, type NewCommentFields } from '../domain/add-comment.ts'
import { type CarriedTicketComment, type Comment, storeCommentEffect } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'
import { keyOfComment, storeComment } from '../store/comments.ts'
import type { TicketQuery } from '../store/tickets.ts'
import { findTicket, getTicket, type TicketDeps, type TicketMutation, updateTicket } from './update-ticket.ts'

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

/** A merchant's new comment. */
interface CommentRequest extends TicketMutation {
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

/**
 * The merchant's `ticket.comments.list`: oldest first, without internal notes (S6). Throws 10001, and 9000 for a limit
 * outside 1 to 100 and for a cursor of another list.
 */
export async function listComments(
  deps: Pick<TicketDeps, 'tickets' | 'comments' | 'keyring'>,
  query: TicketQuery,
  { limit, cursor }: CursorRequest,
): Promise<CursorPage<Stored<Comment>>> {
  const size = checkPageSize(limit)
  const ticket = await findTicket(deps.tickets, query)
  await storeAccepted(deps, ticket)
  const { merchant_id, environment, ticket_id } = ticket
  const scope = { list: 'ticket.comments.list', merchant_id, environment, ticket_id }
  const position = openCursor(deps.keyring, scope, cursor, { shown_at: 'instant', comment_id: 'text' })
  const after = position && { merchant_id, environment, ticket_id, ...position }
  const range = { equals: [merchant_id, environment, ticket_id] }
  const found = await deps.comments.find('by_shown', range, { limit: size + 1, ...(after ? { after } : {}) })
  const items = found.slice(0, size)
  const last = found.length > size ? items.at(-1) : undefined
  const next_cursor = last
    ? sealCursor(deps.keyring, scope, { shown_at: last.created_at, comment_id: last.comment_id })
    : ''
  return { items, next_cursor }
}

/** The operator's list: all comments of a ticket with the internal notes, oldest first. Throws 10001. */
export async function listAllComments(
  deps: Pick<TicketDeps, 'tickets' | 'comments'>,
  ticket_id: string,
  page: PageRequest,
): Promise<{ readonly items: readonly Stored<Comment>[]; readonly next_page_token: string }> {
  const ticket = await getTicket(deps.tickets, ticket_id)
  await storeAccepted(deps, ticket)
  const { merchant_id, environment } = ticket
  return readPage<Comment>(
    {
      collection: deps.comments,
      index: 'by_created',
      range: { equals: [merchant_id, environment, ticket_id] },
      token_scope: { merchant_id, environment, ticket_id },
      position: { created_at: 'instant', comment_id: 'text' },
    },
    page,
  )
}
