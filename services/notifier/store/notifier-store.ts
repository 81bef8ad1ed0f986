import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import { createMembers, MEMBERS_SPEC, type Member } from '#lib/patterns/membership/membership.ts'
import { withCodec } from '#lib/store/coded-collection.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import type { Replay } from '../domain/delivery-filter.ts'
import type { Destination } from '../domain/destination.ts'
import type { StoredEvent } from '../domain/event.ts'
import { openDeliveries } from './deliveries.ts'
import { openListeners } from './listeners.ts'
import { eventCodec } from './sealed-events.ts'

/** Opens the collections of the notifier, the events in the form in which it uses them. */
export async function openNotifierStore(store: Store, person: PersonSealer) {
  const { events, ...others } = await openSealedStore(store)
  return { ...others, events: withCodec(events, eventCodec(person)) }
}

/**
 * Opens the collections of the notifier as they are stored. The order is the order of a backup (docs/operators/backup.md):
 * deliveries are read after the replays that queue them, and before the events whose bodies they send.
 */
export async function openSealedStore(store: Store) {
  return {
    replays: await openReplays(store),
    destinations: await openDestinations(store),
    deliveries: await openDeliveries(store),
    ...(await openListeners(store)),
    events: await openEvents(store),
    event_checks: await store.collection<EventCheck>(EVENT_CHECKS),
    /** The notifiers that share the destinations. They announce nothing but that they live. */
    members: createMembers(await store.collection<Member<object>>(MEMBERS_SPEC), 'notifier'),
  }
}

/** The collections of the notifier. */
export type NotifierStore = Awaited<ReturnType<typeof openNotifierStore>>

/** The collection of events. */
export type Events = Collection<StoredEvent>

/**
 * The declaration of the events. The store deletes each event at its `kept_until`. `by_created` is for `checkEvents`, `by_resource` for
 * erasures.
 */
export const EVENTS: CollectionSpec = {
  name: 'events',
  partition: ['merchant_id', 'event_key'],
  key: ['merchant_id', 'event_key'],
  indexes: {
    by_created: { fields: ['created_at'], across_partitions: true },
    by_resource: { fields: ['merchant_id', 'resource_id', 'created_at'] },
  },
  expires: 'kept_until',
}

/** Opens the collection of events. */
export function openEvents(store: Store): Promise<Events> {
  return store.collection<StoredEvent>(EVENTS)
}

/** The key under which an event is stored. */
export function eventKeyOf({ merchantId, eventKey }: Pick<MerchantEvent, 'merchantId' | 'eventKey'>) {
  return { merchant_id: merchantId, event_key: eventKey }
}

/** How far the check of events has got: one document, which the notifier that checks has leased. */
export interface EventCheck {
  readonly check_id: 'deliveries'
  /** The last event that was checked: a position in `by_created`. */
  readonly position?: Pick<StoredEvent, 'created_at' | 'merchant_id' | 'event_key'> | undefined
  readonly leased_until: Date
}

/** The collection of the check. */
export type EventChecks = Collection<EventCheck>

const EVENT_CHECKS: CollectionSpec = {
  name: 'event_checks',
  partition: ['check_id'],
  key: ['check_id'],
}

/** The collection of destinations. */
export type Destinations = Collection<Destination>

/** A destination as it is stored: with what the index of the closed ones needs. */
interface StoredDestination extends Destination {
  readonly closed_key?: string
}

/** Opens the collection of destinations. */
async function openDestinations(store: Store): Promise<Destinations> {
  return withCodec<Destination, StoredDestination>(await store.collection(DESTINATIONS), {
    encode: (destination) =>
      destination.breaker.opened_at === undefined
        ? { ...destination, closed_key: destination.destination_key }
        : destination,
    decode: ({ closed_key: _, ...destination }) => destination,
  })
}

/**
 * `by_wake` has the destinations that wait for an owner. The operator lists by `by_probe`, which has those whose breaker is not closed,
 * `by_closed` and `by_destination`, and counts by `by_open`. The leases of a destination change none of them.
 */
const DESTINATIONS: CollectionSpec = {
  name: 'destinations',
  partition: ['destination_key'],
  key: ['destination_key'],
  indexes: {
    ...ACT_INDEX,
    by_wake: { fields: ['wake_at'], where: 'wake_at', across_partitions: true },
    by_open: { fields: ['breaker.opened_at'], where: 'breaker.opened_at', across_partitions: true },
    by_probe: { fields: ['breaker.probe_at'], where: 'breaker.probe_at', across_partitions: true },
    by_closed: { fields: ['closed_key'], where: 'closed_key', across_partitions: true },
    by_destination: { fields: ['destination_key'], across_partitions: true },
  },
  expires: 'expires_at',
}

/** The collection of replays. */
export type Replays = Collection<Replay>

/** Opens the collection of replays. `by_wake` has the replays that have not ended. */
export function openReplays(store: Store): Promise<Replays> {
  return store.collection<Replay>({
    name: 'replays',
    partition: ['replay_id'],
    key: ['replay_id'],
    indexes: { ...ACT_INDEX, by_wake: { fields: ['wake_at'], where: 'wake_at', across_partitions: true } },
    expires: 'kept_until',
  })
}
