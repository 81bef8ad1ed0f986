import { useClock } from '#lib/platform/time.ts'

/**
 * Sets the wall clock of this process forward until the returned function is called, as if that time had passed. Timers
 * and durations are not affected.
 */
export function stepWallClock(step_ms: number): () => void {
  return useClock({
    now_ms: () => Date.now() + step_ms,
    monotonic_ms: () => performance.now(),
    after(delay_ms, action) {
      const handle = setTimeout(action, delay_ms)
      return { cancel: () => clearTimeout(handle) }
    },
  })
}
