import type { CollectionSpec, Store } from '#lib/store/store.ts'
import type { Listener, ListenerDelivery } from '../domain/listener.ts'

/** The declaration of the listeners, one per merchant. */
export const LISTENERS: CollectionSpec = {
  name: 'listeners',
  partition: ['merchant_id'],
  key: ['merchant_id'],
  expires: 'expires_at',
}

/** The declaration of the deliveries. The number is unique per listener, and so is the event: neither is written twice. */
export const LISTENER_DELIVERIES: CollectionSpec = {
  name: 'listener_deliveries',
  partition: ['listener_id'],
  key: ['listener_id', 'number'],
  indexes: { by_event: { fields: ['listener_id', 'event_key'], unique: true } },
  expires: 'expires_at',
}

/** The collections of listeners. */
export type ListenerCollections = Awaited<ReturnType<typeof openListeners>>

/** Opens the collections of listeners. */
export async function openListeners(store: Store) {
  return {
    listeners: await store.collection<Listener>(LISTENERS),
    listener_deliveries: await store.collection<ListenerDelivery>(LISTENER_DELIVERIES),
  }
}
