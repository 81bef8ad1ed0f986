import { clock } from '#lib/base/time.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One request to stop can arrive twice: a terminal signals its whole process group, and npm forwards the signal too. */
const SAME_REQUEST_MS = 250

/**
 * Calls `stop` at the first signal, or when the launcher of the process ends (its IPC channel closes). A signal more than
 * 250 ms later exits with 1.
 */
export function onStopRequest(stop: (reason: string) => void): void {
  let requested_ms: number | undefined
  const requestStop = (reason: string): void => {
    requested_ms = clock.monotonic_ms()
    stop(reason)
  }
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (requested_ms === undefined) requestStop(signal)
      else if (clock.monotonic_ms() - requested_ms > SAME_REQUEST_MS) process.exit(1)
    })
  }
  if (process.connected) {
    process.once('disconnect', () => {
      if (requested_ms === undefined) requestStop('launcher ended')
    })
  }
}
