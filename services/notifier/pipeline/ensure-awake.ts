import { upsert } from '#lib/patterns/update.ts'
import { type Destination, type DestinationName, newDestination } from '../domain/destination.ts'
import type { Destinations } from '../store/destinations.ts'

/**
 * Makes sure that a notifier looks at a destination by `wake_at`. Call it after a delivery was stored for it. The owner of
 * the destination gives the lease back before its last look, and then removes `wake_at` only if nothing has written the
 * document since. So either that look finds the delivery, or the write of this call prevents the removal. Returns the
 * notifier that has the lease; `undefined` without one.
 */
export async function ensureAwake(
  destinations: Destinations,
  name: DestinationName,
  wake_at: Date,
): Promise<string | undefined> {
  // A leased destination is awake: its owner looks before it gives the lease back, and others when the lease ends.
  const isAwake = (current: Destination | undefined): boolean =>
    current?.lease !== undefined || (isBy(wake_at, current?.wake_at) && !current?.is_last_look)
  const { destination_key } = name
  const read = await destinations.get({ destination_key }, { linearizable: true })
  if (!isAwake(read)) {
    await upsert(destinations, { destination_key }, (current) =>
      isAwake(current) ? undefined : wakeBy(wake_at, current ?? newDestination(name)),
    )
  }
  return read?.lease?.owner
}

function isBy(latest: Date, at: Date | undefined): boolean {
  return at !== undefined && at <= latest
}

function wakeBy(latest: Date, current: Destination): Destination {
  const wake_at = isBy(latest, current.wake_at) ? current.wake_at : latest
  return { ...current, wake_at, is_last_look: undefined, expires_at: undefined }
}
