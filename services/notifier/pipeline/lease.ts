import { randomHex } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Destination, type DestinationName, newDestination } from '../domain/destination.ts'
import type { Destinations } from '../store/destinations.ts'
import { newOwnedDestination, type OwnedDestination } from './owned-destination.ts'

/** What the writes of leases need. */
export interface LeaseDeps {
  readonly destinations: Destinations
  /** This notifier, by its address in the membership. */
  readonly self_address: string
  /** By the clock of the store. */
  store_now_ms(): number
  /** When something waits at a destination without a lease; `undefined` when nothing does. */
  nextWake(destination: Destination): Promise<Date | undefined>
}

/** Short, so that the deliveries of a process that was killed go on soon. */
const LEASE_MS = 5_000

/** The holder stops before its lease ends, so that a pause between check and request does no harm. */
const LEASE_MARGIN_MS = 500

/** The time that this process has for its last look at a destination that it gives back. Then another one looks. */
const LAST_LOOK_MS = 1_000

/** How long an unused destination is kept for its next delivery. */
const UNUSED_KEPT_MS = 86_400_000

/** Leases a destination; `undefined` when another notifier has it, or was faster, or without room for its merchant. */
export async function takeLease(
  { destinations, self_address, store_now_ms }: LeaseDeps,
  name: DestinationName,
  hasRoom: (merchant_id: string | undefined) => boolean,
): Promise<OwnedDestination | undefined> {
  const { destination_key } = name
  const current = await destinations.get({ destination_key })
  const at_ms = store_now_ms()
  const lease = current?.lease
  // A lease of this process that it does not know of comes from an ambiguous write.
  if (lease && lease.owner !== self_address && lease.until.getTime() > at_ms) return undefined
  const token = randomHex(12)
  const until = new Date(at_ms + LEASE_MS)
  const before: Destination = { ...newDestination(name), ...current }
  if (!hasRoom(before.merchant_id)) return undefined
  const next = {
    ...before,
    lease: { owner: self_address, token, until },
    wake_at: until,
    is_last_look: undefined,
    expires_at: undefined,
  }
  try {
    const stored = await (current ? destinations.replace(next, current.version) : destinations.insert(next))
    return newOwnedDestination(stored, token, before.wake_at !== undefined, {
      leased_until_ms: until.getTime() - LEASE_MARGIN_MS,
      reviewed_at_ms: clock.monotonic_ms(),
    })
  } catch (error) {
    if (error instanceof Conflict || error instanceof Duplicate) return undefined
    throw error
  }
}

/** Renews a lease and stores the breaker. Returns whether this process still has the lease. */
export async function renewLease(
  { destinations, self_address, store_now_ms }: LeaseDeps,
  owned: OwnedDestination,
): Promise<boolean> {
  const { token, breaker } = owned
  const until = new Date(store_now_ms() + LEASE_MS)
  const lease = { owner: self_address, token, until }
  const stored = await writeUnderLease(destinations, owned, { lease, wake_at: until, breaker })
  if (stored) owned.leased_until_ms = until.getTime() - LEASE_MARGIN_MS
  return stored !== undefined
}

/**
 * Gives a lease back. Between the two writes the destination stays awake. A delivery that another process stored while it
 * still saw the lease is found by the read between them; after a crash before that read, the next owner looks. A delivery
 * that is stored later changes the document, so that the second write fails, however late it arrives. A process that stops
 * leaves the look to the next owner (`is_last_look_left`).
 */
export async function giveLeaseBack(
  { destinations, store_now_ms, nextWake }: LeaseDeps,
  owned: OwnedDestination,
  is_last_look_left: boolean,
): Promise<void> {
  const { breaker } = owned
  const look_at = new Date(store_now_ms() + (is_last_look_left ? 0 : LAST_LOOK_MS))
  const given_back = await writeUnderLease(destinations, owned, {
    lease: undefined,
    wake_at: look_at,
    is_last_look: is_last_look_left ? undefined : true,
    breaker,
  })
  if (given_back === undefined || is_last_look_left) return
  const wake_at = await nextWake(given_back)
  const expires_at = wake_at === undefined ? new Date(look_at.getTime() + UNUSED_KEPT_MS) : undefined
  try {
    const looked = { ...given_back, wake_at, is_last_look: undefined, expires_at }
    await destinations.replace(looked, given_back.version)
  } catch (error) {
    // Another process has set `wake_at` or leased the destination meanwhile.
    if (!(error instanceof Conflict)) throw error
  }
}

/** Writes a change if this process still has the lease, also after an earlier write of it was ambiguous. */
async function writeUnderLease(
  destinations: Destinations,
  owned: OwnedDestination,
  change: Pick<Destination, 'lease' | 'wake_at' | 'is_last_look' | 'breaker'>,
): Promise<Stored<Destination> | undefined> {
  const { destination_key, token } = owned
  for (;;) {
    try {
      owned.stored = await destinations.replace({ ...owned.stored, ...change }, owned.stored.version)
      return owned.stored
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      const current = await destinations.get({ destination_key }, { linearizable: true })
      if (current?.lease?.token !== token) return undefined
      owned.stored = current
    }
  }
}
