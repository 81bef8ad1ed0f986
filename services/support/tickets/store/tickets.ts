import type { Collection, CollectionSpec, Stored } from '#lib/platform/store/store.ts'
import type { Ticket } from '../domain/ticket.ts'

/**
 * The collection of tickets. The subject is part of the key, so that a payment has one ticket (S2), and of the partition,
 * so that the tickets of one merchant spread over all servers of a cluster.
 */
export const TICKETS: CollectionSpec = {
  name: 'tickets',
  partition: ['merchant_id', 'environment', 'subject_id'],
  key: ['merchant_id', 'environment', 'subject_id'],
  indexes: {
    by_c_id: { fields: ['merchant_id', 'environment', 'c_id'] },
    by_h_id: { fields: ['merchant_id', 'environment', 'ticket_id'] },
  },
}

/** The key of a ticket in the store. */
type TicketKey = Pick<Ticket, 'merchant_id' | 'environment' | 'subject_id'>

/** Takes the key from a ticket. */
export function keyOfTicket({ merchant_id, environment, subject_id }: TicketKey): {
  [Field in keyof TicketKey]: string
} {
  return { merchant_id, environment, subject_id }
}

/** A merchant's ticket by one of its public identifiers. */
export interface TicketQuery {
  readonly merchant_id: string
  readonly environment: string
  readonly by: 'c_id' | 'h_id'
  readonly id: string
}

/** The merchant's ticket with this identifier. */
export async function findTicketBy(
  tickets: Collection<Ticket>,
  { merchant_id, environment, by, id }: TicketQuery,
): Promise<Stored<Ticket> | undefined> {
  const range = { equals: [merchant_id, environment, id] }
  const [ticket] = await tickets.find(`by_${by}`, range, { limit: 1 })
  return ticket
}
