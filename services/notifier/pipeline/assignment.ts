import type { BackgroundWork } from '#lib/patterns/background-work.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Destination, DestinationName } from '../domain/destination.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { Ownership } from './ownership.ts'
import type { Scheduler } from './scheduler.ts'
import type { Shares } from './shares.ts'
import type { Wakes } from './wakes.ts'

/** What the assignment needs. */
export interface AssignmentDeps {
  readonly ownership: Ownership
  readonly shares: Pick<Shares, 'hasRoom'>
  readonly scheduler: Pick<Scheduler, 'refill'>
  readonly background: BackgroundWork
  requeueWaiting(owned: OwnedDestination): Promise<void>
  storeNow(): Date
  /** Tells another notifier that something is due at a destination. */
  sendWake: Wakes['send']
  readonly self_address: string
}

/** Brings each destination to its owner: this process takes it, or wakes the process that has it. */
export interface Assignment {
  /** The destination if this process has it, or may lease it now and should own it. */
  own(name: DestinationName): Promise<OwnedDestination | undefined>
  /** Takes a destination that waits for an owner, if this notifier should own it or no other one does. */
  visit(waiting: Destination): Promise<void>
  /** Reads what is due at a destination, for a wake that came over the bus. */
  onWake(destination_key: string): Promise<void>
  /** Makes sure that the destination gets an owner that looks at it. Call it after something was stored for it. */
  wakeOwner(name: DestinationName, due_at: Date): Promise<void>
}

/** A destination that waits this long is taken by any notifier: the one that should own it cannot. */
const OVERDUE_MS = 10_000

/** Creates the assignment of destinations for one process. */
export function createAssignment(deps: AssignmentDeps): Assignment {
  const { ownership, shares, scheduler, background, requeueWaiting, storeNow, sendWake, self_address } = deps

  async function readAll(owned: OwnedDestination): Promise<void> {
    await scheduler.refill(owned)
    await requeueWaiting(owned)
  }

  async function take(name: DestinationName): Promise<OwnedDestination | undefined> {
    const { destination_key } = name
    const owned = await ownership.take(name)
    const onError = (error: unknown): void =>
      log.warn({ error, destination_key }, 'a destination could not be read; the next review repeats it')
    // Set when it was just leased and anything may wait there, due or held.
    if (owned?.may_have_waiting) void background.track(readAll(owned), onError)
    return owned
  }

  async function own(name: DestinationName): Promise<OwnedDestination | undefined> {
    const { destination_key, merchant_id } = name
    const known = ownership.get(destination_key)
    if (known !== undefined) return known
    return shares.hasRoom(merchant_id) && ownership.isPlacedHere(destination_key)
      ? await take(name)
      : undefined
  }
  async function onWake(destination_key: string): Promise<void> {
    const known = ownership.get(destination_key)
    if (known === undefined) await own({ destination_key })
    else await scheduler.refill(known)
  }

  return {
    own,
    onWake,
    async visit(waiting) {
      const { merchant_id, wake_at = storeNow() } = waiting
      const is_overdue = storeNow().getTime() - wake_at.getTime() > OVERDUE_MS
      if (is_overdue && shares.hasRoom(merchant_id)) await take(waiting)
      else await own(waiting)
    },
    async wakeOwner(name, due_at) {
      const { destination_key } = name
      const owner = await ownership.ensureAwake(name, due_at)
      if (owner === self_address) await onWake(destination_key)
      else if (owner !== undefined) sendWake(owner, destination_key)
    },
  }
}
