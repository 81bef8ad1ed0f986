import { clock } from '#lib/base/time.ts'
import type { Bus, Subscription } from '#lib/bus/bus.ts'
import type { BackgroundWork } from '#lib/patterns/background-work.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Destination, DestinationKey, DestinationName } from '../domain/destination.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { LeaseLimit, Ownership } from './ownership.ts'
import type { Scheduler } from './scheduler.ts'

interface AssignmentDeps {
  readonly ownership: Ownership
  readonly lease_limit: Pick<LeaseLimit, 'hasRoom'>
  readonly scheduler: Pick<Scheduler, 'refill'>
  readonly background: BackgroundWork
  requeueWaiting(owned: OwnedDestination): Promise<void>
  storeNow(): Date
  readonly bus: Bus
  readonly self_address: string
}

/** Brings each destination to its owner: this process takes it, or wakes the process that has it. */
export type Assignment = ReturnType<typeof createAssignment>

/** A destination that waits this long is taken by any notifier: the notifier that should own it cannot. */
const OVERDUE_MS = 10_000

/** Creates the assignment of destinations for one process. */
export function createAssignment(deps: AssignmentDeps) {
  const { ownership, lease_limit, scheduler, background, requeueWaiting, storeNow, bus, self_address } = deps
  const wakes = createWakes(bus, self_address, onWake)

  async function take(name: DestinationKey): Promise<OwnedDestination | undefined> {
    const { destination_key } = name
    const owned = await ownership.take(name)
    const onError = (error: unknown): void =>
      log.warn(
        { error, destination_key },
        'a destination could not be read; the next renewal of the lease repeats it',
      )
    // Set when it was just leased and anything may wait there.
    if (owned?.may_have_waiting)
      void background.track(
        scheduler.refill(owned).then(() => requeueWaiting(owned)),
        onError,
      )
    return owned
  }

  async function own(name: DestinationKey): Promise<OwnedDestination | undefined> {
    const { destination_key, merchant_id } = name
    const known = ownership.get(destination_key)
    if (known !== undefined) return known
    const may_take = lease_limit.hasRoom(merchant_id) && ownership.isPlacedHere(destination_key)
    return may_take ? await take(name) : undefined
  }

  /** Reads what is due at a destination of which another notifier has stored a delivery. */
  async function onWake(destination_key: string): Promise<void> {
    const known = ownership.get(destination_key)
    if (known === undefined) await own({ destination_key })
    else await scheduler.refill(known)
  }

  return {
    /** The destination if this process has it, or may lease it now and should own it. */
    own,
    /** Receives the wakes of other notifiers from now on. */
    open: wakes.open,
    close: wakes.close,
    /** Takes a destination that waits for an owner, if this notifier should own it or no other one does. */
    async takeUnowned(waiting: Destination): Promise<void> {
      const { merchant_id, wake_at = storeNow() } = waiting
      const is_overdue = storeNow().getTime() - wake_at.getTime() > OVERDUE_MS
      if (is_overdue && lease_limit.hasRoom(merchant_id)) await take(waiting)
      else await own(waiting)
    },
    /** Makes sure that the destination gets an owner that looks at it. Call it after something was stored for it. */
    async wakeOwner(name: DestinationName, due_at: Date): Promise<void> {
      const { destination_key } = name
      const owner = await ownership.ensureAwake(name, due_at)
      if (owner === self_address) await onWake(destination_key)
      else if (owner !== undefined) wakes.send(owner, destination_key)
    },
  }
}

/** How long wakes for the same destination are gathered. */
const GATHER_MS = 5
/** The subject of messages that wake a notifier, followed by its id. */
export const WAKE_SUBJECT = 'notifier.wake'

/** Tells other notifiers over the bus that something is due at their destinations. The bus may lose it. */
function createWakes(bus: Bus, self_address: string, onWake: (destination_key: string) => Promise<void>) {
  const gathered = new Set<string>()
  let subscription: Subscription | undefined
  return {
    /** Wakes a notifier for a destination. Repeated wakes within a moment become one. */
    send(address: string, destination_key: string): void {
      const name = `${address} ${destination_key}`
      if (gathered.has(name)) return
      gathered.add(name)
      clock.after(GATHER_MS, () => {
        gathered.delete(name)
        bus
          .publish(`${WAKE_SUBJECT}.${address}`, Buffer.from(destination_key))
          // The owner looks at the store all the same, a moment later.
          .catch((error: unknown) => log.debug({ error }, 'a wake could not be sent'))
      })
    },
    /** Receives the wakes for this notifier from now on. */
    async open(): Promise<void> {
      subscription = await bus.subscribe(`${WAKE_SUBJECT}.${self_address}`, ({ data }) =>
        onWake(Buffer.from(data).toString()),
      )
    },
    async close(): Promise<void> {
      await subscription?.close()
    },
  }
}
