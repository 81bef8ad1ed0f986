import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { StoredEvent } from '../domain/event.ts'

/** The collection of events. */
export type Events = Collection<StoredEvent>

/** The key of an event. */
export type EventKey = Pick<StoredEvent, 'merchant_id' | 'event_key'>

/** Opens the collection of events. The store deletes each event at its `kept_until`. */
export function openEvents(store: Store): Promise<Events> {
  return store.collection<StoredEvent>({
    name: 'events',
    partition: ['merchant_id', 'event_key'],
    key: ['merchant_id', 'event_key'],
    expires: 'kept_until',
  })
}

/** The key under which an event is stored. */
export function eventKeyOf(event: Pick<MerchantEvent, 'merchantId' | 'eventKey'>): EventKey {
  return { merchant_id: event.merchantId, event_key: event.eventKey }
}
