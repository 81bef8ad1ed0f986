import { uuidv7 } from '#lib/base/ids.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Stored } from '#lib/store/store.ts'
import { deleteTicket, moveTicket, setPriority } from '../domain/change-ticket.ts'
import type { Comment } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'
import { keyOfComment } from '../store/comments.ts'
import { acceptComment } from './comment-ticket.ts'
import { getTicket, type TicketDeps, updateTicket } from './update-ticket.ts'

/*
 * What the operator does with tickets. A ticket that has the status or the priority already stays as it is; deleting a ticket
 * again is 10001.
 */

/** Gives a ticket another status (S4). Throws 10001, and 10003 for a change that is not permitted. */
export async function move(deps: TicketDeps, ticket_id: string, status: TicketStatus): Promise<Ticket> {
  const found = await getTicket(deps.tickets, ticket_id)
  return updateTicket(deps, found, (ticket, at) => moveTicket(ticket, status, at))
}

/** Gives a ticket another priority and deadline (S5). Throws 10001. */
export async function prioritize(
  deps: TicketDeps,
  ticket_id: string,
  priority: TicketPriority,
): Promise<Ticket> {
  const found = await getTicket(deps.tickets, ticket_id)
  return updateTicket(deps, found, (ticket, at) => setPriority(ticket, priority, at))
}

/** Deletes a ticket, so that its payment can have another one (S2). Throws 10001, also for a deleted ticket. */
export async function remove(deps: TicketDeps, ticket_id: string): Promise<void> {
  const found = await getTicket(deps.tickets, ticket_id)
  await updateTicket(deps, found, deleteTicket)
}

/** A comment or an internal note of the operator. An empty `operation_id` is none. */
export interface Answer {
  readonly ticket_id: string
  readonly body: string
  readonly is_internal: boolean
  readonly operation_id: string
}

/**
 * Adds a comment of the operator, or an internal note: once per `operation_id`, if there is one (S3). Throws 1013, 10001,
 * and 10003 for a comment on a closed or canceled ticket.
 */
export async function answer(deps: TicketDeps, request: Answer): Promise<Stored<Comment>> {
  const { ticket_id, operation_id, ...payload } = request
  const find = (): Promise<Stored<Ticket>> => getTicket(deps.tickets, ticket_id)
  const accept = async (comment_id: string): Promise<Stored<Comment>> =>
    acceptComment(deps, find, { comment_id, author: 'support', attachments: [], ...payload })
  if (operation_id === '') return accept(uuidv7())
  const { merchant_id, environment } = await find()
  // The name of an RPC cannot equal that of a public method, whose keys merchants choose.
  const key = { merchant_id, environment, method: 'AnswerTicket', key: `${ticket_id}:${operation_id}` }
  const result = await deps.idempotency.run(key, payloadHash(payload), async (id) => {
    await accept(id('comment'))
    return Buffer.from(id('comment'))
  })
  const comment_id = Buffer.from(result).toString()
  const stored = await deps.comments.get(keyOfComment({ merchant_id, environment, ticket_id, comment_id }))
  return stored ?? accept(comment_id)
}

/** Which tickets the operator lists. Without a merchant they are the unresolved ones of all merchants. */
export interface OperatorFilter {
  readonly merchant_id?: string
  readonly environment?: Environment
  readonly statuses: readonly TicketStatus[]
}

const KEY = { environment: 'text', subject_id: 'text' } as const

/**
 * The operator's list: the tickets of a merchant, newest first, or the unresolved tickets of all merchants, the next
 * deadline first. A page before the last can be short.
 */
export function listForOperator(
  tickets: TicketDeps['tickets'],
  { merchant_id, environment, statuses }: OperatorFilter,
  page: PageRequest,
): Promise<{ readonly items: readonly Stored<Ticket>[]; readonly next_page_token: string }> {
  const matches = (ticket: Ticket): boolean =>
    (environment === undefined || ticket.environment === environment) &&
    (statuses.length === 0 || statuses.includes(ticket.status))
  const list =
    merchant_id === undefined
      ? {
          index: 'by_deadline',
          range: {},
          token_scope: { list: 'deadlines' },
          position: { open_deadline: 'instant', merchant_id: 'text', ...KEY } as const,
        }
      : {
          index: 'by_created',
          range: { equals: [merchant_id] },
          reverse: true,
          token_scope: { merchant_id },
          position: { listed_at: 'instant', ...KEY } as const,
        }
  return readPage<Ticket>({ collection: tickets, matches, ...list }, page)
}
