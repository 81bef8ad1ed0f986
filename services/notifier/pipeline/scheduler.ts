import { nextTurn } from '#lib/platform/time.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { DueDelivery } from './due-queue.ts'
import { createDueTimers } from './due-timers.ts'
import { isSick, type OwnedDestination, toDue } from './owned-destination.ts'
import { createRefill, NEAR_FUTURE_MS, REFILL_BELOW } from './refill.ts'
import type { Slot, Slots } from './slots.ts'

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
  /** Looks again for attempts that can begin, because a slot became free. */
  wake(owned?: OwnedDestination): void
  /** Forgets a destination that this process no longer has. */
  remove(owned: OwnedDestination): void
}

/** The attempts that a destination begins per turn. */
const TURN_MAX = 4

/**
 * Creates the scheduler of a process. The destinations with due deliveries take turns, so that a backlog of one does not
 * delay the others. An attempt costs one slot whatever it sends, so equal turns are fair.
 */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { deliveries, slots, store_now_ms, hasLease, isInProgress, begin } = deps
  /** The destinations with due deliveries, in the order of their turns. */
  const ring = new Set<OwnedDestination>()
  const timers = createDueTimers(wake)
  let is_scheduled = false
  const refill = createRefill({ deliveries, store_now_ms, add, onRead: wake })

  function wake(owned?: OwnedDestination): void {
    if (owned !== undefined) ring.add(owned)
    if (is_scheduled || ring.size === 0) return
    is_scheduled = true
    nextTurn(() => {
      is_scheduled = false
      takeTurns()
    })
  }

  /** Gives turns until a whole round begins nothing. */
  function takeTurns(): void {
    let turns_in_vain = 0
    while (turns_in_vain < ring.size) {
      const [owned] = ring
      if (owned === undefined) return
      ring.delete(owned)
      const began = takeTurn(owned)
      turns_in_vain = began > 0 ? 0 : turns_in_vain + 1
    }
  }

  /** Begins up to `TURN_MAX` attempts. A destination that still has due deliveries goes to the end of the ring. */
  function takeTurn(owned: OwnedDestination): number {
    let began = 0
    while (began < TURN_MAX) {
      // Without its lease a destination begins nothing. Its next review renews the lease and wakes it again.
      if (!hasLease(owned)) return began
      const at_ms = store_now_ms()
      const heads = owned.queue.heads(at_ms)
      if (heads.length === 0) {
        timers.set(owned, at_ms)
        return began
      }
      if (!heads.some((due) => beginIfRoom(owned, due))) break
      began += 1
    }
    ring.add(owned)
    return began
  }

  function beginIfRoom(owned: OwnedDestination, due: DueDelivery): boolean {
    const { destination_key } = owned
    const slot = slots.take({ ...due, destination_key }, isSick(owned))
    if (slot === undefined) return false
    owned.queue.remove(due)
    begin(owned, due, slot)
    if (owned.has_more[due.lane] && owned.queue.size(due.lane) < REFILL_BELOW) void refill(owned)
    return true
  }

  function add(owned: OwnedDestination, delivery: Delivery): void {
    const due = toDue(delivery)
    if (due === undefined || isInProgress(due.delivery_id)) return
    if (due.due_ms > store_now_ms() + NEAR_FUTURE_MS) return
    if (owned.queue.add(due)) wake(owned)
    else owned.has_more[due.lane] = true
  }

  return {
    refill,
    add,
    wake,
    remove(owned) {
      ring.delete(owned)
      timers.remove(owned)
      owned.queue.clear()
    },
  }
}
