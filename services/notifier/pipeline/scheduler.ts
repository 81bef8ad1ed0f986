import { clock, nextTurn, type Timer } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Delivery, TRY_KINDS, type TryKind } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'
import { createFairQueue } from './fair-queue.ts'
import {
  type DueDelivery,
  type OwnedDestination,
  QUEUED_MAX,
  slotUserOf,
  toDue,
} from './owned-destination.ts'
import type { Slot, SlotPool, Slots } from './slots.ts'

interface SchedulerDeps {
  readonly deliveries: Pick<Deliveries, 'find'>
  readonly slots: Slots
  /** The clock of the store. */
  store_now_ms(): number
  hasLease(owned: OwnedDestination): boolean
  /** Whether this process makes an attempt of the delivery now. */
  isInProgress(delivery_id: string): boolean
  /** Begins the attempt of a delivery that is due. The slot is released when it has ended. */
  begin(owned: OwnedDestination, due: DueDelivery, slot: Slot): void
}

/** Decides which attempt of a process begins next. */
export type Scheduler = ReturnType<typeof createScheduler>

/**
 * Creates the scheduler of a process. What is due gets its slots in the order of the fair queue, so that a backlog of one
 * merchant does not delay the others.
 */
export function createScheduler(deps: SchedulerDeps) {
  const { deliveries, slots, store_now_ms, hasLease, isInProgress, begin } = deps
  /** The destinations that must join or leave the fair queue before it is served. */
  const woken = new Set<OwnedDestination>()
  const timers = { first: createDueTimers('first', wake), retry: createDueTimers('retry', wake) }
  let is_scheduled = false
  const refill = createRefill({ deliveries, store_now_ms, add, onRead: wake })
  const fair_queue = createFairQueue({ slots, begin: beginNext })

  function wake(owned: OwnedDestination): void {
    woken.add(owned)
    if (is_scheduled) return
    is_scheduled = true
    nextTurn(() => {
      is_scheduled = false
      for (const each of woken) for (const try_kind of TRY_KINDS) joinOrLeave(each, try_kind)
      woken.clear()
      fair_queue.serve()
    })
  }

  /** Puts a destination with a due delivery in the fair queue, and wakes another one when its first delivery is due. */
  function joinOrLeave(owned: OwnedDestination, try_kind: TryKind): void {
    const at_ms = store_now_ms()
    const due = owned.queue.head(try_kind, at_ms)
    // Without its lease a destination begins nothing. The next renewal of its lease wakes it again.
    if (due !== undefined && hasLease(owned)) fair_queue.add(owned, slotUserOf(owned, due))
    else fair_queue.remove(owned, try_kind)
    if (due === undefined) timers[try_kind].set(owned, at_ms)
  }

  function beginNext(owned: OwnedDestination, try_kind: TryKind, freed: SlotPool | undefined) {
    const due = hasLease(owned) ? owned.queue.head(try_kind, store_now_ms()) : undefined
    if (due === undefined) {
      joinOrLeave(owned, try_kind)
      return 'moved'
    }
    const user = slotUserOf(owned, due)
    // It may have failed, hung or succeeded since it joined.
    if (fair_queue.add(owned, user)) return 'moved'
    const { slot, lacks } = slots.take(user, freed)
    if (slot === undefined) return lacks
    owned.queue.remove(due)
    begin(owned, due, slot)
    if (owned.has_more[try_kind] && owned.queue.size(try_kind) < REFILL_BELOW) void refill(owned)
    joinOrLeave(owned, try_kind)
    return 'began'
  }

  function add(owned: OwnedDestination, delivery: Delivery): void {
    const due = toDue(delivery)
    if (due === undefined || isInProgress(due.delivery_id)) return
    if (due.due_ms > store_now_ms() + NEAR_FUTURE_MS) return
    if (owned.queue.add(due)) wake(owned)
    else owned.has_more[due.try_kind] = true
  }

  return {
    /** Reads the due deliveries of a destination from the store. Resolves when they are queued; never rejects. */
    refill,
    /** Queues a delivery that was just stored. One that is due later is read when its time comes near. */
    add,
    /** Looks for attempts that can begin, because a destination has changed or one of its attempts gave its slot back. */
    wake,
    /** Forgets a destination that this process no longer has. */
    remove(owned: OwnedDestination): void {
      woken.delete(owned)
      owned.queue.clear()
      for (const try_kind of TRY_KINDS) {
        fair_queue.remove(owned, try_kind)
        timers[try_kind].remove(owned)
      }
    },
  }
}

interface RefillDeps extends Pick<SchedulerDeps, 'deliveries' | 'store_now_ms'> {
  /** Queues a delivery that was read. */
  add(owned: OwnedDestination, delivery: Delivery): void
  /** Called when all that was read is queued. */
  onRead(owned: OwnedDestination): void
}

/** Below this number of queued deliveries of a kind of try the next ones are read. */
const REFILL_BELOW = QUEUED_MAX / 4

/** How far ahead deliveries are kept in memory: longer than the pause between two refills. */
const NEAR_FUTURE_MS = 4_000

/** The longest page of the store, see `FindOptions`. */
const READ_MAX = 1_000

/**
 * Makes the function that reads the due deliveries of a destination, up to the room of its queue. It resolves when they
 * are queued and never rejects. A call during a read makes that read again. While the backlog of a kind of try
 * is longer than its queue, it is not read until the queue runs low: what else is stored comes after what is queued.
 */
export function createRefill({ deliveries, store_now_ms, add, onRead }: RefillDeps) {
  async function refillKind(owned: OwnedDestination, try_kind: TryKind): Promise<void> {
    if (owned.has_more[try_kind] && owned.queue.size(try_kind) >= REFILL_BELOW) return
    // A delivery that is stored during the read and finds no room sets this again.
    owned.has_more[try_kind] = false
    const to = new Date(store_now_ms() + NEAR_FUTURE_MS)
    // Attempts in progress are still in the index, in front of the others.
    const limit = Math.min(QUEUED_MAX + owned.in_progress, READ_MAX)
    // The longest due first.
    const found = await deliveries.find(
      'by_due',
      { equals: [owned.destination_key, try_kind], to },
      { limit },
    )
    if (found.length === limit) owned.has_more[try_kind] = true
    for (const delivery of found) add(owned, delivery)
  }

  return async (owned: OwnedDestination): Promise<void> => {
    if (owned.refilling !== 'no') {
      owned.refilling = 'again'
      return
    }
    try {
      do {
        owned.refilling = 'yes'
        await Promise.all(TRY_KINDS.map((try_kind) => refillKind(owned, try_kind)))
      } while (isAgain(owned))
    } catch (error) {
      owned.has_more.first = true
      owned.has_more.retry = true
      log.warn({ error }, 'due deliveries could not be read; the next renewal of the lease repeats it')
    } finally {
      owned.refilling = 'no'
    }
    onRead(owned)
  }
}

/** Whether another read was requested during the last one: a function, because the compiler would assume `yes`. */
function isAgain({ refilling }: OwnedDestination): boolean {
  return refilling === 'again'
}

/** One timer per destination, for its first queued delivery of one kind of try. `onDue` is called when that is due. */
function createDueTimers(try_kind: TryKind, onDue: (owned: OwnedDestination) => void) {
  const timers = new Map<OwnedDestination, { readonly due_ms: number; readonly timer: Timer }>()
  const remove = (owned: OwnedDestination): void => {
    timers.get(owned)?.timer.cancel()
    timers.delete(owned)
  }
  return {
    /** Sets the timer of a destination to its first queued delivery, or removes it. `at_ms` is the clock of the store. */
    set(owned: OwnedDestination, at_ms: number): void {
      const due_ms = owned.queue.firstDueMs(try_kind)
      if (timers.get(owned)?.due_ms === due_ms) return
      remove(owned)
      if (due_ms === Number.POSITIVE_INFINITY) return
      const timer = clock.after(Math.max(0, due_ms - at_ms), () => {
        timers.delete(owned)
        onDue(owned)
      })
      timers.set(owned, { due_ms, timer })
    },
    remove,
  }
}
