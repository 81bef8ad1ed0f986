import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { Ticket } from '../domain/ticket.ts'

const OWNER = ['merchant_id', 'environment'] as const

/** The end of the indexes of lists: newest first, and those of one millisecond by their ids (S6). */
const ORDER = ['listed_at', 'ticket_id'] as const

/** An index of a list of the tickets that have certain values in `fields`. A deleted ticket is in none of them. */
const listIndex = (...fields: readonly string[]) => ({
  fields: [...OWNER, ...fields, ...ORDER],
  where: 'listed_at',
})

/**
 * The collection of tickets. The subject is part of the key, so that a payment has one ticket (S2), and of the partition,
 * so that the tickets of one merchant spread over all servers of a cluster. Each combination of filters of a list has an
 * index: a page reads little more than what it shows (S6, `selectionsOf`).
 */
export const TICKETS = {
  name: 'tickets',
  partition: ['merchant_id', 'environment', 'subject_id'],
  key: ['merchant_id', 'environment', 'subject_id'],
  indexes: {
    by_c_id: { fields: [...OWNER, 'c_id'] },
    by_h_id: { fields: [...OWNER, 'ticket_id'] },
    by_ticket_id: { fields: ['ticket_id'], across_partitions: true },
    by_payment: { fields: [...OWNER, 'payment_references[]'], where: 'payment_references' },
    list: listIndex(),
    list_status: listIndex('status'),
    list_category_priority: listIndex('category', 'priority'),
    list_status_category_priority: listIndex('status', 'category', 'priority'),
    by_created: { fields: ['merchant_id', 'listed_at'], where: 'listed_at' },
    by_deadline: { fields: ['open_deadline'], where: 'open_deadline', across_partitions: true },
    by_replaced: { fields: [...OWNER, 'replaced_ticket_ids[]'], where: 'replaced_ticket_ids' },
    summary: { fields: [...OWNER, ...ORDER, 'status'] },
    ...EFFECT_INDEXES,
  },
} as const satisfies CollectionSpec

/** Takes the key from a ticket. */
export const keyOfTicket = keyOf(TICKETS)

/** A merchant's ticket by one of its public identifiers. */
export interface TicketQuery {
  readonly merchant_id: string
  readonly environment: string
  readonly by: 'c_id' | 'h_id'
  readonly id: string
}

/**
 * The merchant's ticket with this identifier, also when it is deleted. A `c_id` belongs to one ticket, permanently,
 * because it is the idempotency key of the creation.
 */
export function findTicketBy(tickets: Collection<Ticket>, { merchant_id, environment, by, id }: TicketQuery) {
  return findOne(tickets, `by_${by}`, [merchant_id, environment, id])
}

/**
 * The merchant's ticket with this id, or the one that has its place since it was deleted. Both have the effects of the first
 * one that have not run yet.
 */
export async function findTicketOrSuccessor(
  tickets: Collection<Ticket>,
  query: Omit<TicketQuery, 'by'>,
): Promise<Stored<Ticket> | undefined> {
  const ticket = await findTicketBy(tickets, { ...query, by: 'h_id' })
  if (ticket) return ticket
  // Read afterwards, so that a ticket that is replaced between the two reads is found.
  return findOne(tickets, 'by_replaced', [query.merchant_id, query.environment, query.id])
}

/** The ticket of any merchant with this id, also when it is deleted. */
export function findTicketOfAny(tickets: Collection<Ticket>, ticket_id: string) {
  return findOne(tickets, 'by_ticket_id', [ticket_id])
}
