import type { Clock } from '#lib/base/time.ts'
import { createAdjustableClock } from './adjustable-clock.ts'

/** The clock of the machine, except for timers of some delays. */
export interface HeldTimers {
  readonly clock: Clock
  /** How many timers are held. */
  count(): number
  /** Runs the held timers, as if their time were over. Throws when none is held: the test would wait for real time. */
  elapse(): void
}

/**
 * Makes a clock for `useClock` that holds every timer of `delay_ms` until the test lets it elapse. All other timers run,
 * so that services in the same process go on working. `spent_max_ms` also holds timers that are shorter by up to this time,
 * for a limit that was spent in part before its timer was set.
 */
export function holdTimers(delay_ms: number, spent_max_ms = 0): HeldTimers {
  const held = new Set<() => void>()
  const machine = createAdjustableClock()
  return {
    clock: {
      ...machine,
      after(timer_delay_ms, action) {
        if (timer_delay_ms > delay_ms || timer_delay_ms < delay_ms - spent_max_ms)
          return machine.after(timer_delay_ms, action)
        held.add(action)
        return { cancel: () => void held.delete(action) }
      },
    },
    count: () => held.size,
    elapse() {
      if (held.size === 0) throw new Error(`no timer of ${delay_ms} ms is held`)
      for (const action of held) {
        held.delete(action)
        action()
      }
    },
  }
}
