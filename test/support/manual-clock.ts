import { type Clock, useClock } from '#lib/base/time.ts'

/** A clock that does not move by itself. */
export interface ManualClock extends Clock {
  /** Moves forward by `time_ms`. Runs each timer at its due time and waits until its effects are done. */
  advance(time_ms: number): Promise<void>
  /** Sets the wall clock back or forward. Timers and durations are not affected. */
  stepWall(time_ms: number): void
}

/** Makes a clock for `useClock`. */
export function createManualClock(wall_ms = Date.UTC(2026, 10, 21)): ManualClock {
  const timers = new Set<{ due_ms: number; action: () => void }>()
  let elapsed_ms = 0
  let step_ms = 0
  const nextDue = (until_ms: number): { due_ms: number; action: () => void } | undefined =>
    [...timers].filter(({ due_ms }) => due_ms <= until_ms).sort((a, b) => a.due_ms - b.due_ms)[0]
  return {
    now_ms: () => wall_ms + step_ms + elapsed_ms,
    monotonic_ms: () => elapsed_ms,
    after(delay_ms, action) {
      const timer = { due_ms: elapsed_ms + delay_ms, action }
      timers.add(timer)
      return { cancel: () => void timers.delete(timer) }
    },
    async advance(time_ms) {
      const until_ms = elapsed_ms + time_ms
      await settled()
      for (let timer = nextDue(until_ms); timer; timer = nextDue(until_ms)) {
        timers.delete(timer)
        elapsed_ms = timer.due_ms
        timer.action()
        await settled()
      }
      elapsed_ms = until_ms
    },
    stepWall(time_ms) {
      step_ms += time_ms
    },
  }
}

/** A manual clock that is the clock of this process until it is disposed of. */
export interface InstalledClock extends ManualClock, Disposable {}

/** Makes a manual clock and installs it. */
export function installManualClock(wall_ms?: number): InstalledClock {
  const clock = createManualClock(wall_ms)
  return { ...clock, [Symbol.dispose]: useClock(clock) }
}

/** Resolves when all work is done that needs neither time nor the network. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve))
}
