import { clock, sleep, withTimeout } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { createReadiness } from './health-server.ts'

/** The lifecycle of a process as its owner sees it: the process itself, or a test that runs a role in its own process. */
export type OwnedLifecycle = ReturnType<typeof createLifecycle>

/** Readiness and orderly stop of a process, as the parts of the process use them while they start. */
export type Lifecycle = Omit<OwnedLifecycle, 'drain' | 'announceStop' | 'stop'>

interface Part {
  readonly name: string
  readonly stop: () => Promise<void> | void
}

/** Makes the lifecycle of one process. */
export function createLifecycle() {
  const draining = new AbortController()
  const stopping = new AbortController()
  const parts: Part[] = []
  let drain_ms = 0
  const announceStop = (): void => {
    draining.abort()
    stopping.abort()
  }
  return {
    readiness: createReadiness(draining.signal),
    /**
     * Aborts when the process is asked to stop. Requests are still taken for the drain time, so that load balancers can
     * notice, but every connection ends with its next response (R5). `stopping` aborts after it.
     */
    draining: draining.signal,
    /** Aborts when the process must stop. Long waits end then and their callers are answered at once (P5, R5). */
    stopping: stopping.signal,
    /**
     * Registers how to stop a part that was just started. Parts stop in reverse order, so register a part before the
     * parts that depend on it, and listeners last.
     */
    onStop: (name: string, stop: Part['stop']) => void parts.push({ name, stop }),
    /** Sets the drain time. It is 0 until a process serves, because no caller sends it requests before. */
    setDrainTime(time_ms: number) {
      drain_ms = time_ms
    },
    /** Turns readiness off and aborts `draining`. Resolves when the drain time is over. */
    async drain() {
      draining.abort()
      if (drain_ms > 0) await sleep(drain_ms)
    },
    /** Turns readiness off and aborts `stopping`, but stops no part yet. A repeated call does nothing. */
    announceStop,
    /**
     * Announces the stop and stops all parts, the last one first. Each part may take half of the remaining time, so that
     * a part that hangs leaves time for the others. A part that fails or hangs is logged; this function never throws.
     */
    async stop(limit_ms: number) {
      announceStop()
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
      log.error({ part: name, error }, 'part failed to stop')
    }
    return true
  }
  const stopped_in_time = await withTimeout(stopped(), timeout_ms)
  const duration_ms = Math.round(clock.monotonic_ms() - began_ms)
  if (stopped_in_time === undefined)
    log.error(
      { part: name, duration_ms },
      'part did not stop in time; the process exits without waiting for it',
    )
  else log.debug({ part: name, duration_ms }, 'part stopped')
}
