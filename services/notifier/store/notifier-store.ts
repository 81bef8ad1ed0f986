import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { StoredEvent } from '../domain/event.ts'
import { openDeliveries } from './deliveries.ts'
import { openEvents } from './events.ts'

/** The collections of the notifier. */
export interface NotifierStore {
  readonly events: Collection<StoredEvent>
  readonly deliveries: Collection<Delivery>
}

/** Opens the collections of the notifier. */
export async function openNotifierStore(store: Store): Promise<NotifierStore> {
  return { events: await openEvents(store), deliveries: await openDeliveries(store) }
}
