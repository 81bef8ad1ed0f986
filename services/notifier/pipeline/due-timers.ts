import { clock, type Timer } from '#lib/base/time.ts'
import type { TryKind } from '../domain/delivery.ts'
import type { OwnedDestination } from './owned-destination.ts'

/** One timer per destination, for the first queued delivery of one try_kind. */
export interface DueTimers {
  /** Sets the timer of a destination to its first queued delivery, or removes it. `at_ms` is the clock of the store. */
  set(owned: OwnedDestination, at_ms: number): void
  remove(owned: OwnedDestination): void
}

/** Creates the timers. `onDue` is called when the delivery is due. */
export function createDueTimers(try_kind: TryKind, onDue: (owned: OwnedDestination) => void): DueTimers {
  const timers = new Map<OwnedDestination, { readonly due_ms: number; readonly timer: Timer }>()
  const remove = (owned: OwnedDestination): void => {
    timers.get(owned)?.timer.cancel()
    timers.delete(owned)
  }
  return {
    set(owned, at_ms) {
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
