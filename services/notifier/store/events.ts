import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import type { StoredEvent } from '../domain/event.ts'

/** The collection of events. */
export type Events = Collection<StoredEvent>

/** The key of an event. */
export type EventKey = Pick<StoredEvent, 'merchant_id' | 'event_key'>

/** The declaration of the events. The store deletes each event at its `kept_until`. */
export const EVENTS: CollectionSpec = {
  name: 'events',
  partition: ['merchant_id', 'event_key'],
  key: ['merchant_id', 'event_key'],
  expires: 'kept_until',
}

/** Opens the collection of events. */
export function openEvents(store: Store): Promise<Events> {
  return store.collection<StoredEvent>(EVENTS)
}

/** The key under which an event is stored. */
export function eventKeyOf(event: Pick<MerchantEvent, 'merchantId' | 'eventKey'>): EventKey {
  return { merchant_id: event.merchantId, event_key: event.eventKey }
}
