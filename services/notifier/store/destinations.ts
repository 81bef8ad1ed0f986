import type { Collection, Store } from '#lib/store/store.ts'
import type { Destination } from '../domain/destination.ts'

/** The collection of destinations. */
export type Destinations = Collection<Destination>

/** Opens the collection of destinations. `by_wake` has those that wait for an owner. */
export function openDestinations(store: Store): Promise<Destinations> {
  return store.collection<Destination>({
    name: 'destinations',
    partition: ['destination_key'],
    key: ['destination_key'],
    indexes: { by_wake: { fields: ['wake_at'], where: 'wake_at', across_partitions: true } },
    expires: 'expires_at',
  })
}
