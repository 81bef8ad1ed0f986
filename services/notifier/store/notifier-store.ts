import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import type { Collection, Store } from '#lib/platform/store/port.ts'
import type { Delivery, StoredEvent } from '../domain/delivery.ts'

/** The notifier's collections; both forget after `RETENTION_MS`. */
export interface NotifierStore {
  readonly events: Collection<StoredEvent>
  readonly deliveries: Collection<Delivery>
}

/** How long the operator can look at what was delivered: 90 days. */
export const RETENTION_MS = 90 * 24 * 3_600_000

/** Opens the collections. */
export async function openNotifierStore(store: Store): Promise<NotifierStore> {
  const events = await store.collection<StoredEvent>({
    name: 'events',
    partition: ['merchant_id'],
    key: ['merchant_id', 'event_key'],
    expires: 'expires_at',
  })
  const deliveries = await store.collection<Delivery>({
    name: 'deliveries',
    partition: ['merchant_id'],
    key: ['merchant_id', 'delivery_id'],
    indexes: {
      by_created: { fields: ['merchant_id', 'created_at'] },
      by_resource: { fields: ['merchant_id', 'resource_id', 'created_at'] },
      by_delivery_id: { fields: ['delivery_id'], across: true },
      ...EFFECT_INDEXES,
    },
    expires: 'expires_at',
  })
  return { events, deliveries }
}

/** The key of a delivery. */
export function keyOfDelivery({ merchant_id, delivery_id }: Delivery): {
  merchant_id: string
  delivery_id: string
} {
  return { merchant_id, delivery_id }
}

/** The key of an event. */
export function keyOfEvent({ merchantId, eventKey }: Pick<MerchantEvent, 'merchantId' | 'eventKey'>): {
  merchant_id: string
  event_key: string
} {
  return { merchant_id: merchantId, event_key: eventKey }
}
