import { nextTurn } from '#lib/base/time.ts'
import type { Delivery, TryKind } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'
import { type DueDelivery, TRY_KINDS } from './due-queue.ts'
import { createDueTimers } from './due-timers.ts'
import { type OwnedDestination, slotUserOf, toDue } from './owned-destination.ts'
import { createRefill, NEAR_FUTURE_MS, REFILL_BELOW } from './refill.ts'
import type { Slot, SlotPool, Slots } from './slots.ts'
import { createTurns } from './turns.ts'

/** What the scheduler needs. */
export interface SchedulerDeps {
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
export interface Scheduler {
  /** Reads the due deliveries of a destination from the store. Resolves when they are queued; never rejects. */
  refill(owned: OwnedDestination): Promise<void>
  /** Queues a delivery that was just stored. One that is due later is read when its time comes near. */
  add(owned: OwnedDestination, delivery: Delivery): void
  /** Looks for attempts that can begin, because a destination has changed or one of its attempts gave its slot back. */
  wake(owned: OwnedDestination): void
  /** Forgets a destination that this process no longer has. */
  remove(owned: OwnedDestination): void
}

/**
 * Creates the scheduler of a process. The merchants with due deliveries take turns, see `createTurns`, so that a backlog of
 * one does not delay the others.
 */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { deliveries, slots, store_now_ms, hasLease, isInProgress, begin } = deps
  /** The destinations whose lanes must find their places before the next turns. */
  const woken = new Set<OwnedDestination>()
  const timers = { first: createDueTimers('first', wake), retry: createDueTimers('retry', wake) }
  let is_scheduled = false
  const refill = createRefill({ deliveries, store_now_ms, add, onRead: wake })
  const turns = createTurns({ slots, begin: beginNext })

  function wake(owned: OwnedDestination): void {
    woken.add(owned)
    if (is_scheduled) return
    is_scheduled = true
    nextTurn(() => {
      is_scheduled = false
      for (const each of woken) for (const try_kind of TRY_KINDS) findPlace(each, try_kind)
      woken.clear()
      turns.take()
    })
  }

  /** Lets a try_kind with a due delivery take turns, and wakes another one when its first delivery is due. */
  function findPlace(owned: OwnedDestination, try_kind: TryKind): void {
    const at_ms = store_now_ms()
    const due = owned.queue.head(try_kind, at_ms)
    // Without its lease a destination begins nothing. Its next review renews the lease and wakes it again.
    if (due !== undefined && hasLease(owned)) turns.place(owned, slotUserOf(owned, due))
    else turns.remove(owned, try_kind)
    if (due === undefined) timers[try_kind].set(owned, at_ms)
  }

  function beginNext(owned: OwnedDestination, try_kind: TryKind, freed: SlotPool | undefined) {
    const due = hasLease(owned) ? owned.queue.head(try_kind, store_now_ms()) : undefined
    if (due === undefined) {
      findPlace(owned, try_kind)
      return 'left'
    }
    const user = slotUserOf(owned, due)
    // It may have failed, hung or succeeded since it came to its place.
    if (turns.place(owned, user)) return 'left'
    const { slot, lacks } = slots.take(user, freed)
    if (slot === undefined) return lacks
    owned.queue.remove(due)
    begin(owned, due, slot)
    if (owned.has_more[try_kind] && owned.queue.size(try_kind) < REFILL_BELOW) void refill(owned)
    findPlace(owned, try_kind)
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
    refill,
    add,
    wake,
    remove(owned) {
      woken.delete(owned)
      owned.queue.clear()
      for (const try_kind of TRY_KINDS) {
        turns.remove(owned, try_kind)
        timers[try_kind].remove(owned)
      }
    },
  }
}
