import { upsert } from '#lib/patterns/update.ts'
import { type Destination, type DestinationName, newDestination } from '../domain/destination.ts'
import type { Destinations } from '../store/destinations.ts'

/**
 * Makes sure that a notifier looks at a destination by `wake_at`. Call it after a delivery was stored for it: its owner
 * removes `wake_at` only when a read after the removal finds nothing, so one of the two sees the other. Returns the
 * notifier that has the lease; `undefined` without one.
 */
export async function ensureAwake(
  destinations: Destinations,
  name: DestinationName,
  wake_at: Date,
): Promise<string | undefined> {
  // A leased destination is awake: its owner looks before it gives the lease back, and others when the lease ends.
  const isAwake = (current: Destination | undefined): boolean =>
    current?.lease !== undefined || (current?.wake_at !== undefined && current.wake_at <= wake_at)
  const { destination_key } = name
  const read = await destinations.get({ destination_key }, { linearizable: true })
  if (!isAwake(read)) {
    await upsert(destinations, { destination_key }, (current) =>
      isAwake(current) ? undefined : { ...(current ?? newDestination(name)), wake_at, expires_at: undefined },
    )
  }
  return read?.lease?.owner
}
