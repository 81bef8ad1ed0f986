import { clock, sleep } from '#lib/base/time.ts'

/** Runs slices of background work with pauses between them. */
export interface Pace {
  run<T>(slice: () => Promise<T>): Promise<T>
}

/** Work of less than this is not followed by a pause of its own, because a timer is not more exact than about 1 ms. */
const PAUSE_AFTER_MS = 5

/**
 * Pauses for `pause_per_work` times as long as the work took, so that the work gets a fixed share of a processor and of
 * the store, and commits the rest. A pause ends at once when `signal` is aborted.
 */
export function createPace(pause_per_work: number, signal: AbortSignal): Pace {
  let unpaused_ms = 0
  return {
    async run(slice) {
      const began_ms = clock.monotonic_ms()
      const result = await slice()
      unpaused_ms += clock.monotonic_ms() - began_ms
      if (unpaused_ms >= PAUSE_AFTER_MS) {
        const pause_ms = unpaused_ms * pause_per_work
        unpaused_ms = 0
        await sleep(pause_ms, signal)
      }
      return result
    },
  }
}
