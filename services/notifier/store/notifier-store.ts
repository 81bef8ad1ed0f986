import { createMembers, MEMBERS_SPEC, type Member, type Members } from '#lib/patterns/membership/members.ts'
import type { Store } from '#lib/store/store.ts'
import { type Deliveries, openDeliveries } from './deliveries.ts'
import { type Destinations, openDestinations } from './destinations.ts'
import { type Events, openEvents } from './events.ts'
import { openReplays, type Replays } from './replays.ts'

/** The collections of the notifier. */
export interface NotifierStore {
  readonly events: Events
  readonly deliveries: Deliveries
  readonly destinations: Destinations
  readonly replays: Replays
  /** The notifiers that share the destinations. They announce nothing but that they live. */
  readonly members: Members<object>
}

/**
 * Opens the collections of the notifier. The order is that of a backup (docs/operators/backup.md): deliveries are read
 * after the replays that queue them, and before the events whose bodies they send.
 */
export async function openNotifierStore(store: Store): Promise<NotifierStore> {
  return {
    replays: await openReplays(store),
    destinations: await openDestinations(store),
    deliveries: await openDeliveries(store),
    events: await openEvents(store),
    members: createMembers(await store.collection<Member<object>>(MEMBERS_SPEC), 'notifier'),
  }
}
