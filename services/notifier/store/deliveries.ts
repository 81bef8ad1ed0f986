import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Delivery } from '../domain/delivery.ts'

/** The key of a delivery. */
export type DeliveryKey = Pick<Delivery, 'merchant_id' | 'delivery_id'>

/** Opens the collection of deliveries. The store deletes each delivery together with its event, at its `kept_until`. */
export function openDeliveries(store: Store): Promise<Collection<Delivery>> {
  return store.collection<Delivery>({
    name: 'deliveries',
    partition: ['merchant_id'],
    key: ['merchant_id', 'delivery_id'],
    indexes: {
      by_created: { fields: ['merchant_id', 'created_at'] },
      by_resource: { fields: ['merchant_id', 'resource_id', 'created_at'] },
      by_delivery_id: { fields: ['delivery_id'], across_partitions: true },
      ...EFFECT_INDEXES,
    },
    expires: 'kept_until',
  })
}

/** The key under which a delivery is stored. */
export function deliveryKeyOf({ merchant_id, delivery_id }: Delivery): DeliveryKey {
  return { merchant_id, delivery_id }
}

/** Finds a delivery of any merchant by its id. */
export async function findDelivery(
  deliveries: Collection<Delivery>,
  delivery_id: string,
): Promise<Delivery | undefined> {
  const [delivery] = await deliveries.find('by_delivery_id', { equals: [delivery_id] }, { limit: 1 })
  return delivery
}
