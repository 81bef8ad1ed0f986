import { randomHex } from '#lib/base/crypto/random.ts'
import { update, upsert } from '#lib/patterns/update.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { askProbe, breakerState, takesEarly, withAsked } from '../domain/breaker.ts'
import { TRY_KINDS } from '../domain/delivery.ts'
import {
  type Destination,
  type DestinationKey,
  type DestinationName,
  newDestination,
} from '../domain/destination.ts'
import { type Deliveries, findWaiting } from '../store/deliveries.ts'
import type { Destinations } from '../store/notifier-store.ts'
import { newOwnedDestination, type OwnedDestination } from './owned-destination.ts'

/** What the writes of leases need. */
export interface LeaseDeps {
  readonly destinations: Destinations
  readonly deliveries: Pick<Deliveries, 'find'>
  /** This notifier, by its address in the membership. */
  readonly self_address: string
  /** By the clock of the store. */
  store_now_ms(): number
}

/** Short, so that the deliveries of a process that was killed go on soon. */
const LEASE_MS = 5_000

/** The holder stops before its lease ends, so that a pause between check and request does no harm. */
const LEASE_MARGIN_MS = 500

/** The time that this process has for its last look at a destination that it gives back. Then another one looks. */
const LAST_LOOK_MS = 1_000

/** How long an unused destination is kept for its next delivery. */
const UNUSED_KEPT_MS = 86_400_000

/**
 * Leases a destination; `undefined` when another notifier has it or was faster, without room for its merchant, and when
 * neither the store nor the caller knows its merchant: then nothing waits there.
 */
export async function takeLease(
  { destinations, self_address, store_now_ms }: LeaseDeps,
  { destination_key, merchant_id }: DestinationKey,
  hasRoom: (merchant_id: string) => boolean,
): Promise<OwnedDestination | undefined> {
  const current = await destinations.get({ destination_key })
  const before: Destination | undefined =
    current ?? (merchant_id === undefined ? undefined : newDestination({ destination_key, merchant_id }))
  if (before === undefined || !hasRoom(before.merchant_id)) return undefined
  const at_ms = store_now_ms()
  const lease = current?.lease
  // A lease of this process that it does not know of comes from an ambiguous write.
  if (lease && lease.owner !== self_address && lease.until.getTime() > at_ms) return undefined
  const token = randomHex(12)
  const until = new Date(at_ms + LEASE_MS)
  const next = {
    ...before,
    lease: { owner: self_address, token, until },
    wake_at: until,
    is_last_look: undefined,
    expires_at: undefined,
  }
  try {
    const stored = await (current ? destinations.replace(next, current.version) : destinations.insert(next))
    return newOwnedDestination(stored, token, before.wake_at !== undefined, until.getTime() - LEASE_MARGIN_MS)
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
  const until = new Date(store_now_ms() + LEASE_MS)
  const lease = { owner: self_address, token: owned.token, until }
  const stored = await writeUnderLease(destinations, owned, { lease, wake_at: until })
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
  { destinations, deliveries, store_now_ms }: LeaseDeps,
  owned: OwnedDestination,
  is_last_look_left: boolean,
): Promise<void> {
  const look_at = new Date(store_now_ms() + (is_last_look_left ? 0 : LAST_LOOK_MS))
  const given_back = await writeUnderLease(destinations, owned, {
    lease: undefined,
    wake_at: look_at,
    is_last_look: is_last_look_left ? undefined : true,
  })
  if (given_back === undefined || is_last_look_left) return
  const wake_at = await findNextWake(deliveries, new Date(store_now_ms()), given_back)
  const expires_at = wake_at === undefined ? new Date(look_at.getTime() + UNUSED_KEPT_MS) : undefined
  try {
    const looked = { ...given_back, wake_at, is_last_look: undefined, expires_at }
    await destinations.replace(looked, given_back.version)
  } catch (error) {
    // Another process has set `wake_at` or leased the destination meanwhile.
    if (!(error instanceof Conflict)) throw error
  }
}

/**
 * Writes a change and the breaker if this process still has the lease, also after an earlier write of it was ambiguous. A probe
 * that was asked for meanwhile goes into the breaker.
 */
async function writeUnderLease(
  destinations: Destinations,
  owned: OwnedDestination,
  change: Pick<Destination, 'lease' | 'wake_at' | 'is_last_look'>,
): Promise<Stored<Destination> | undefined> {
  const { destination_key, token } = owned
  for (;;) {
    try {
      const { stored, breaker } = owned
      owned.stored = await destinations.replace({ ...stored, ...change, breaker }, stored.version)
      return owned.stored
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      const current = await destinations.get({ destination_key }, { linearizable: true })
      if (current?.lease?.token !== token) return undefined
      owned.stored = current
      const breaker = withAsked(owned.breaker, current.breaker)
      if (breaker !== owned.breaker) owned.may_have_waiting = true
      owned.breaker = breaker
    }
  }
}

/** How often a destination with blocked deliveries is looked at for a secret (N7). */
const BLOCKED_LOOK_MS = 10_000

/**
 * When a notifier must look at a destination: for its next attempt, for the probe of an open breaker that cost
 * deliveries their tries, or to see whether a missing secret was issued. `undefined` when nothing waits there.
 */
async function findNextWake(
  deliveries: Pick<Deliveries, 'find'>,
  at: Date,
  { destination_key, breaker }: Destination,
): Promise<Date | undefined> {
  const [dead, blocked, ...due] = await Promise.all([
    findWaiting(deliveries, destination_key, 'dead', 1),
    findWaiting(deliveries, destination_key, 'blocked', 1),
    // Also an attempt in progress.
    ...TRY_KINDS.map((try_kind) =>
      deliveries.find('by_due', { equals: [destination_key, try_kind] }, { limit: 1, linearizable: true }),
    ),
  ])
  const times = due.flat().flatMap(({ due_at }) => (due_at ? [due_at.getTime()] : []))
  if (dead.length > 0)
    times.push(breakerState(breaker, at) === 'open' ? (breaker.probe_at ?? at).getTime() : at.getTime())
  if (blocked.length > 0) times.push(at.getTime() + BLOCKED_LOOK_MS)
  if (times.length > 0 && takesEarly(breaker, at)) times.push(at.getTime())
  return times.length === 0 ? undefined : new Date(Math.min(...times))
}

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

/**
 * Asks in the document for a probe of an open breaker. The holder of the lease finds it when it renews; without one a notifier must
 * look now. Returns the destination; `undefined` when it does not exist.
 */
export function askForProbe(
  destinations: Destinations,
  destination_key: string,
  storeNow: () => Date,
): Promise<Stored<Destination> | undefined> {
  return update(destinations, { destination_key }, (current) => {
    const at = storeNow()
    const breaker = askProbe(current.breaker, at)
    if (breaker === current.breaker) return undefined
    return { ...(current.lease === undefined ? wakeBy(at, current) : current), breaker }
  })
}

function isBy(latest: Date, at: Date | undefined): boolean {
  return at !== undefined && at <= latest
}

function wakeBy(latest: Date, current: Destination): Destination {
  const wake_at = isBy(latest, current.wake_at) ? current.wake_at : latest
  return { ...current, wake_at, is_last_look: undefined, expires_at: undefined }
}
