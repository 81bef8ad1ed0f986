import { useClock } from '#lib/platform/time.ts'

/** Replaces the wall clock of this process until the returned function is called. Timers and durations go on as before. */
export function useWallClock(now_ms: () => number): () => void {
  return useClock({
    now_ms,
    monotonic_ms: () => performance.now(),
    after(delay_ms, action) {
      const handle = setTimeout(action, delay_ms)
      return { cancel: () => clearTimeout(handle) }
    },
  })
}

/** Sets the wall clock of this process forward until the returned function is called, as if that time had passed. */
export function stepWallClock(step_ms: number): () => void {
  return useWallClock(() => Date.now() + step_ms)
}
