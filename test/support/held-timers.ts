import type { Clock } from '#lib/platform/time.ts'
import { createAdjustableClock } from './adjustable-clock.ts'

/** The clock of the machine, except for the timers of one delay. */
export interface HeldTimers {
  readonly clock: Clock
  /** How many timers are held. */
  count(): number
  /** Runs the held timers, as if their time were over. */
  elapse(): void
}

/**
 * Makes a clock for `useClock` that holds every timer of `delay_ms` until the test lets it elapse. All other timers run,
 * so that services in the same process go on working.
 */
export function holdTimers(delay_ms: number): HeldTimers {
  const held = new Set<() => void>()
  const machine = createAdjustableClock()
  return {
    clock: {
      ...machine,
      after(timer_delay_ms, action) {
        if (timer_delay_ms !== delay_ms) return machine.after(timer_delay_ms, action)
        held.add(action)
        return { cancel: () => void held.delete(action) }
      },
    },
    count: () => held.size,
    elapse() {
      for (const action of held) {
        held.delete(action)
        action()
      }
    },
  }
}
