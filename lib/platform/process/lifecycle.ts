import { log } from '#lib/platform/telemetry/log.ts'
import { clock, withTimeout } from '#lib/platform/time.ts'
import { createReadiness, type Readiness } from './readiness.ts'

/** What a role's code is given while it builds itself up. */
export interface Lifecycle {
  readonly readiness: Readiness
  /** Aborted when the process is told to stop: whatever waits for long answers at once (P5, R5). */
  readonly stopping: AbortSignal
  /**
   * Registers how to stop what was just started. They are called in reverse order, so what is depended on is
   * registered before what depends on it, and listeners come last.
   */
  onStop(name: string, stop: () => Promise<void> | void): void
}

/** A lifecycle with the power to end it: for the process itself, and for tests that run a role inside their own. */
export interface OwnedLifecycle extends Lifecycle {
  /** Turns readiness off and aborts `stopping`, without stopping anything yet. A repeated call does nothing. */
  announceStop(): void
  /**
   * Announces the stop and stops all parts, the last one first. A part may take half of the time that is left, so
   * that one that hangs never takes the turn of those after it. What fails or hangs is logged; this never throws.
   */
  stop(limit_ms: number): Promise<void>
}

interface Part {
  readonly name: string
  readonly stop: () => Promise<void> | void
}

/** Makes the lifecycle of one process. */
export function createLifecycle(): OwnedLifecycle {
  const stopping = new AbortController()
  const parts: Part[] = []
  return {
    readiness: createReadiness(stopping.signal),
    stopping: stopping.signal,
    onStop: (name, stop) => void parts.push({ name, stop }),
    announceStop: () => stopping.abort(),
    async stop(limit_ms) {
      stopping.abort()
      const deadline_ms = clock.monotonic_ms() + limit_ms
      for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
        await stopPart(part, (deadline_ms - clock.monotonic_ms()) / 2)
      }
    },
  }
}

async function stopPart({ name, stop }: Part, timeout_ms: number): Promise<void> {
  const began_ms = clock.monotonic_ms()
  const stopped = async (): Promise<boolean> => {
    try {
      await stop()
    } catch (error) {
      log.error({ part: name, error }, 'a part failed to stop')
    }
    return true
  }
  const inTime = await withTimeout(stopped(), timeout_ms)
  const duration_ms = Math.round(clock.monotonic_ms() - began_ms)
  if (inTime === undefined)
    log.error({ part: name, duration_ms }, 'a part did not stop in time and is left behind')
  else log.debug({ part: name, duration_ms }, 'stopped a part')
}
