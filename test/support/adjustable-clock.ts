import type { Clock } from '#lib/base/time.ts'

/** The clock of the machine, which a test can move, stop and speed up. */
export interface AdjustableClock extends Clock {
  /** Moves the wall clock forward. Timers and durations are not affected. */
  stepWall(time_ms: number): void
  /**
   * Stops the wall clock, now or at another time, so that no window of time ends because the machine is slow. `stepWall`
   * still moves it.
   */
  stopWall(wall_ms?: number): void
  /**
   * Makes time pass `rate` times as fast: durations, and timers that are set from now on. A long time limit then ends soon,
   * where a test waits for that.
   */
  setRate(rate: number): void
}

/** Makes a clock for `useClock` that runs like the machine's until a test adjusts it. */
export function createAdjustableClock(): AdjustableClock {
  let rate = 1
  let rated_at_ms = performance.now()
  /** The reading of this clock when the rate was last set. It continues the machine's clock. */
  let before_ms = rated_at_ms
  let stepped_ms = 0
  let stopped_wall_ms: number | undefined
  const wall_offset_ms = Date.now() - before_ms
  const monotonic_ms = (): number => before_ms + (performance.now() - rated_at_ms) * rate
  const wallMs = (): number => Math.floor(stopped_wall_ms ?? monotonic_ms() + wall_offset_ms) + stepped_ms
  return {
    now_ms: wallMs,
    monotonic_ms,
    after(delay_ms, action) {
      const handle = setTimeout(action, Math.max(0, delay_ms / rate)).unref()
      return { cancel: () => clearTimeout(handle) }
    },
    stepWall(time_ms) {
      stepped_ms += time_ms
    },
    stopWall(wall_ms = wallMs()) {
      stopped_wall_ms = wall_ms
      stepped_ms = 0
    },
    setRate(next) {
      before_ms = monotonic_ms()
      rated_at_ms = performance.now()
      rate = next
    },
  }
}
