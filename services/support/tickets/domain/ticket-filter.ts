import type { Environment } from '#lib/contract/environment.ts'
import {
  TICKET_CATEGORIES,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
  type TicketCategory,
  type TicketPriority,
  type TicketStatus,
} from '#lib/contract/ticket.ts'
import type { Ticket } from './ticket.ts'

/** Which of a merchant's tickets a list shows. An empty list of words does not restrict it. */
export interface TicketFilter {
  readonly merchant_id: string
  readonly environment: Environment
  readonly statuses: readonly TicketStatus[]
  readonly categories: readonly TicketCategory[]
  readonly priorities: readonly TicketPriority[]
  /** One identifier of the payment that the tickets are about. */
  readonly payment?: { readonly by: 'c_id' | 'h_id'; readonly id: string }
  /** The inclusive lower bound of the creation. */
  readonly created_from?: Date
  /** The exclusive upper bound of the creation. */
  readonly created_to?: Date
}

/** The fields by which a list can be restricted, with all their words. */
const FIELDS = {
  status: { filter: 'statuses', words: TICKET_STATUSES.names },
  category: { filter: 'categories', words: TICKET_CATEGORIES.names },
  priority: { filter: 'priorities', words: TICKET_PRIORITIES.names },
} as const

type Field = keyof typeof FIELDS
const FIELD_NAMES = Object.keys(FIELDS) as readonly Field[]

/** The indexes of lists by the fields that they begin with. A list uses the first one that has all its fields. */
const INDEXES: readonly (readonly Field[])[] = [
  [],
  ['status'],
  ['category', 'priority'],
  ['status', 'category', 'priority'],
]

/** Tickets with the same values of the first fields of an index: a part of a list that one range of it holds. */
export type TicketSelection = Readonly<Record<string, string>>

/**
 * The parts of a list and the name of their index: one for each combination of the words of its filters, and of all words
 * of a field of the index that has no filter. So no list needs more than 192 ranges, and none of them holds a ticket that
 * the list does not show. A filter with every word of its field restricts nothing.
 */
export function selectionsOf(filter: TicketFilter): {
  index: string
  selections: readonly TicketSelection[]
} {
  const wordsOf = (field: Field): readonly string[] => [...new Set<string>(filter[FIELDS[field].filter])]
  const restricts = (field: Field): boolean =>
    wordsOf(field).length > 0 && wordsOf(field).length < FIELDS[field].words.length
  const restricted = FIELD_NAMES.filter(restricts)
  const fields = INDEXES.find((index) => restricted.every((field) => index.includes(field))) ?? FIELD_NAMES
  let selections: readonly TicketSelection[] = [{}]
  for (const field of fields) {
    const words = restricts(field) ? wordsOf(field) : FIELDS[field].words
    selections = selections.flatMap((selection) => words.map((word) => ({ ...selection, [field]: word })))
  }
  return { index: ['list', ...fields].join('_'), selections }
}

/** Whether a list shows a ticket of its payment, by everything but the payment. */
export function matchesFilter(ticket: Ticket, filter: TicketFilter): boolean {
  const { created_from, created_to } = filter
  const created_ms = ticket.created_at.getTime()
  return (
    FIELD_NAMES.every((field) => {
      const words: readonly string[] = filter[FIELDS[field].filter]
      return words.length === 0 || words.includes(ticket[field])
    }) &&
    created_ms >= (created_from?.getTime() ?? Number.NEGATIVE_INFINITY) &&
    created_ms < (created_to?.getTime() ?? Number.POSITIVE_INFINITY)
  )
}

/** The place of a ticket in a list: lists are newest first, and tickets of one millisecond by their ids (S6). */
export interface TicketPosition {
  readonly listed_at: Date
  readonly ticket_id: string
}

/** The order of lists: negative when `a` comes first. */
export function newestFirst(a: TicketPosition, b: TicketPosition): number {
  const by_time = b.listed_at.getTime() - a.listed_at.getTime()
  if (by_time !== 0 || a.ticket_id === b.ticket_id) return by_time
  return a.ticket_id > b.ticket_id ? -1 : 1
}

/** Where a ticket is in lists. A ticket that was just deleted is where it was. */
export function positionOf({ created_at, ticket_id }: Ticket): TicketPosition {
  return { listed_at: created_at, ticket_id }
}
