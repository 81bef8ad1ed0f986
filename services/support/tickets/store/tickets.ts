import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { TEST_END_INDEX } from '#lib/store/test-end.ts'
import { listIndexes, type ResourceList } from '../../domain/resource-list.ts'
import type { ResourceQuery } from '../../domain/support-resource.ts'
import { type Ticket, UNRESOLVED } from '../domain/ticket.ts'

/** The list of tickets. A deleted ticket has no `listed_at`. */
export const TICKET_LIST = {
  name: 'ticket.list',
  id_field: 'ticket_id',
  key_field: 'subject_id',
  time_field: 'listed_at',
  words: {
    status: TICKET_STATUSES.names,
    category: TICKET_CATEGORIES.names,
    priority: TICKET_PRIORITIES.names,
  },
  restricted: [[], ['status'], ['category', 'priority'], ['status', 'category', 'priority']],
  operator_fields: ['status', 'priority'],
  deadlines: { field: 'open_deadline', statuses: UNRESOLVED },
} as const satisfies ResourceList

const SCOPE = ['merchant_id', 'environment'] as const

/**
 * The collection of tickets. The subject is part of the key, so that a payment has one ticket (S2), and of the partition,
 * so that the tickets of one merchant spread over all servers of a cluster.
 */
export const TICKETS = {
  name: 'tickets',
  partition: ['merchant_id', 'environment', 'subject_id'],
  key: ['merchant_id', 'environment', 'subject_id'],
  indexes: {
    // The reference first, so that it also finds the tickets of all merchants.
    by_any_c_id: { fields: ['c_id', ...SCOPE], across_partitions: true },
    by_h_id: { fields: [...SCOPE, 'ticket_id'] },
    by_id: { fields: ['ticket_id'], across_partitions: true },
    by_erasable: { fields: ['erasable_since'], where: 'erasable_since', across_partitions: true },
    ...TEST_END_INDEX,
    by_replaced: { fields: [...SCOPE, 'replaced_ticket_ids[]'], where: 'replaced_ticket_ids' },
    ...listIndexes(TICKET_LIST),
    ...ACT_INDEX,
    ...EFFECT_INDEXES,
  },
} as const satisfies CollectionSpec

/** Takes the key from a ticket. */
export const keyOfTicket = keyOf(TICKETS)

/**
 * The merchant's ticket with this identifier, also when it is deleted. A `c_id` belongs to one ticket, as long as that is kept,
 * because it is the idempotency key of the creation.
 */
export function findTicketBy(
  tickets: Collection<Ticket>,
  { merchant_id, environment, by, id }: ResourceQuery,
) {
  if (by === 'c_id') return findOne(tickets, 'by_any_c_id', [id, merchant_id, environment])
  return findOne(tickets, 'by_h_id', [merchant_id, environment, id])
}

/**
 * The merchant's ticket with this id, or the one that has its place since it was deleted. Both have the effects of the first
 * one that have not run yet.
 */
export async function findTicketOrSuccessor(tickets: Collection<Ticket>, query: Omit<ResourceQuery, 'by'>) {
  const ticket = await findTicketBy(tickets, { ...query, by: 'h_id' })
  if (ticket) return ticket
  // Read afterwards, so that a ticket that is replaced between the two reads is found.
  return findOne(tickets, 'by_replaced', [query.merchant_id, query.environment, query.id])
}

/** The ticket of any merchant with this id, also when it is deleted. */
export function findTicketById(tickets: Collection<Ticket>, ticket_id: string) {
  return findOne(tickets, 'by_id', [ticket_id])
}
