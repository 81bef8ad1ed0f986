import { clock } from '#lib/platform/time.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One request to stop can arrive twice: a terminal signals its whole process group, and npm forwards the signal too. */
const SAME_REQUEST_MS = 250

/**
 * Calls `stop` at the first signal, or when the launcher of the process ends (its IPC channel closes). A second signal
 * exits at once with 1.
 */
export function onStopRequest(stop: (reason: string) => void): void {
  let asked_ms: number | undefined
  const first = (reason: string): void => {
    asked_ms = clock.monotonic_ms()
    stop(reason)
  }
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (asked_ms === undefined) first(signal)
      else if (clock.monotonic_ms() - asked_ms > SAME_REQUEST_MS) process.exit(1)
    })
  }
  if (process.connected) {
    process.once('disconnect', () => {
      if (asked_ms === undefined) first('launcher ended')
    })
  }
}
