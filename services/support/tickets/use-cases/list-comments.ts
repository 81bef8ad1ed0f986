import { openCursor, sealCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { checkPageSize, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Stored } from '#lib/store/store.ts'
import type { CursorPage, CursorRequest } from '../../use-cases/cursor-page.ts'
import type { Comment } from '../domain/comment.ts'
import type { TicketQuery } from '../store/tickets.ts'
import { storeAccepted } from './add-comment.ts'
import type { TicketDeps } from './deps.ts'
import { findTicket, getTicket } from './find-ticket.ts'

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
