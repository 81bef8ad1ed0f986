import { clock } from '#lib/platform/time.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One wish to stop can arrive twice: a terminal signals its whole process group, and npm passes the signal on too. */
const SAME_WISH_MS = 250

/**
 * Calls `stop` when the process is told to stop: by a signal, or by its launcher going away (the end of the IPC
 * channel that the launcher gave it). A second signal ends the process at once.
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
      else if (clock.monotonic_ms() - asked_ms > SAME_WISH_MS) process.exit(1)
    })
  }
  if (process.connected) {
    process.once('disconnect', () => {
      if (asked_ms === undefined) first('launcher gone')
    })
  }
}
