import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { type Delivery, type DeliveryStatus, TRY_KINDS } from '../domain/delivery.ts'

/** The collection of deliveries. */
export type Deliveries = Collection<Delivery>

/**
 * The declaration of the deliveries. Lists of a merchant have an index for each filter; without an event, the lists by
 * status and by endpoint merge the ranges of all events. `by_due` has what is pending, and
 * `by_waiting` and `by_waiting_since` what waits for a secret or for a breaker: of one destination, and of all. `by_trouble` and
 * `by_trouble_of` have only what has failed, so a delivery that succeeds at once is never in them. The store deletes
 * a delivery together with its event.
 */
export const DELIVERIES: CollectionSpec = {
  name: 'deliveries',
  partition: ['merchant_id', 'delivery_id'],
  key: ['merchant_id', 'delivery_id'],
  indexes: {
    by_environment: { fields: ['merchant_id', 'environment', 'created_at'] },
    by_event: { fields: ['merchant_id', 'environment', 'event', 'created_at'] },
    by_status: { fields: ['merchant_id', 'environment', 'status', 'event', 'created_at'] },
    by_resource: { fields: ['merchant_id', 'resource_id', 'created_at'] },
    by_endpoint: {
      fields: ['merchant_id', 'endpoint_id', 'event', 'status', 'created_at'],
      where: 'endpoint_id',
    },
    ...ACT_INDEX,
    by_delivery_id: { fields: ['delivery_id'], across_partitions: true },
    by_due: { fields: ['destination_key', 'try_kind', 'due_at'], where: 'due_at', across_partitions: true },
    by_waiting: {
      fields: ['destination_key', 'status', 'waits_since'],
      where: 'waits_since',
      across_partitions: true,
    },
    by_trouble: {
      fields: ['environment', 'trouble', 'trouble_since', 'delivery_id'],
      where: 'trouble',
      across_partitions: true,
    },
    by_trouble_of: {
      fields: ['destination_key', 'environment', 'trouble', 'trouble_since', 'delivery_id'],
      where: 'trouble',
      across_partitions: true,
    },
    by_waiting_since: {
      fields: ['environment', 'status', 'waits_since'],
      where: 'waits_since',
      across_partitions: true,
    },
  },
  expires: 'kept_until',
}

/** Opens the collection of deliveries. */
export function openDeliveries(store: Store): Promise<Deliveries> {
  return store.collection<Delivery>(DELIVERIES)
}

/** Finds a delivery of any merchant by its id. */
export function findDelivery(deliveries: Pick<Deliveries, 'find'>, delivery_id: string) {
  return findOne(deliveries, 'by_delivery_id', [delivery_id])
}

/** The deliveries of a destination that wait in a status for a secret or breaker, the longest waiting first. */
export function findWaiting(
  deliveries: Pick<Deliveries, 'find'>,
  destination_key: string,
  status: DeliveryStatus,
  limit: number,
) {
  return deliveries.find('by_waiting', { equals: [destination_key, status] }, { limit, linearizable: true })
}

/** The pending delivery of a destination whose next try is due first. */
export async function findNextDue(deliveries: Pick<Deliveries, 'find'>, destination_key: string) {
  const found = await Promise.all(
    TRY_KINDS.map((try_kind) =>
      deliveries.find('by_due', { equals: [destination_key, try_kind] }, { limit: 1, linearizable: true }),
    ),
  )
  return found
    .flat()
    .sort((a, b) => (a.due_at?.getTime() ?? 0) - (b.due_at?.getTime() ?? 0))
    .at(0)
}
