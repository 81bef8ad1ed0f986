import { openCursor, sealCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { mergeRanges } from '#lib/patterns/paging/merge-ranges.ts'
import { checkPageSize } from '#lib/patterns/paging/read-page.ts'
import type { Stored } from '#lib/store/store.ts'
import type { CursorPage, CursorRequest } from '../../use-cases/list-resources.ts'
import { paymentReferenceKey, type Ticket } from '../domain/ticket.ts'
import {
  matchesFilter,
  newestFirst,
  positionOf,
  selectionsOf,
  type TicketFilter,
  type TicketPosition,
} from '../domain/ticket-filter.ts'
import type { TicketDeps } from './update-ticket.ts'

const POSITION = { listed_at: 'instant', ticket_id: 'text' } as const

/**
 * The merchant's `ticket.list`: newest first (S6). Throws 9000 for a limit outside 1 to 100, and for a cursor that was
 * altered or belongs to other filters.
 */
export async function listTickets(
  { tickets, keyring }: Pick<TicketDeps, 'tickets' | 'keyring'>,
  filter: TicketFilter,
  { limit, cursor }: CursorRequest,
): Promise<CursorPage<Stored<Ticket>>> {
  const size = checkPageSize(limit)
  const scope = scopeOf(filter)
  const after = openCursor(keyring, scope, cursor, POSITION)
  const found = filter.payment
    ? await readOfPayment(tickets, filter, filter.payment)
    : await readSelections(tickets, filter, after, size + 1)
  const items = found.slice(0, size)
  const last = found.length > size ? items.at(-1) : undefined
  return { items, next_cursor: last ? sealCursor(keyring, scope, { ...positionOf(last) }) : '' }
}

function scopeOf({ created_from, created_to, ...filter }: TicketFilter) {
  const instants = { created_from: created_from?.toISOString(), created_to: created_to?.toISOString() }
  return { list: 'ticket.list', ...filter, ...instants }
}

/** A payment has one ticket at most, so no response has a cursor. */
async function readOfPayment(
  tickets: TicketDeps['tickets'],
  filter: TicketFilter,
  { by, id }: NonNullable<TicketFilter['payment']>,
): Promise<Stored<Ticket>[]> {
  const range = { equals: [filter.merchant_id, filter.environment, paymentReferenceKey(by, id)] }
  const found = await tickets.find('by_payment', range, { limit: 1 })
  return found.filter((ticket) => matchesFilter(ticket, filter))
}

/** Reads each part of the list from its range of the index, and merges them. */
function readSelections(
  tickets: TicketDeps['tickets'],
  filter: TicketFilter,
  after: TicketPosition | undefined,
  limit: number,
): Promise<Stored<Ticket>[]> {
  const { merchant_id, environment, created_from, created_to } = filter
  const { index, selections } = selectionsOf(filter)
  const sources = selections.map((selection) => ({
    index,
    range: {
      equals: [merchant_id, environment, ...Object.values(selection)],
      ...(created_from ? { from: created_from } : {}),
      ...(created_to ? { to: created_to } : {}),
    },
    // The id of a ticket is unique, so any subject gives the right place in each range.
    ...(after ? { after: { merchant_id, environment, ...selection, ...after, subject_id: '' } } : {}),
  }))
  const compare = (a: Ticket, b: Ticket): number => newestFirst(positionOf(a), positionOf(b))
  return mergeRanges(tickets, sources, { limit, reverse: true, compare })
}
