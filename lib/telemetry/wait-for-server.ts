import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from './log.ts'

/** How long a start waits for a server that does not answer yet. */
export interface StartWait {
  readonly limit_ms: number
  /** Ends the wait early, when the process is asked to stop. */
  readonly signal?: AbortSignal
}

interface NeededServer {
  /** Its name for the log. */
  readonly name: string
  /**
   * Whether an error means that the server is not there yet. Any other error ends the wait, as more time changes
   * nothing.
   */
  readonly isMissing: (error: unknown) => boolean
}

const BACKOFF = { first_ms: 50, max_ms: 2_000 }

/**
 * Calls `connect` until it succeeds, for at most `limit_ms`, because servers and processes are often started at the same
 * time. One line of the log says that the process waits. Throws the last error of `connect`.
 */
export async function waitForServer<T>(
  { name, isMissing }: NeededServer,
  { limit_ms, signal }: StartWait,
  connect: () => Promise<T>,
): Promise<T> {
  const began_ms = clock.monotonic_ms()
  for (let failures = 1; ; failures += 1) {
    try {
      const connected = await connect()
      if (failures > 1)
        log.info(
          { waiting: name, duration_ms: waitedMs(began_ms) },
          'the server answers; the start continues',
        )
      return connected
    } catch (error) {
      if (signal?.aborted) throw new Unavailable(`stopped while waiting for ${name}`, { cause: error })
      const delay_ms = backoffDelay(failures, BACKOFF, randomFraction())
      if (!isMissing(error) || waitedMs(began_ms) + delay_ms > limit_ms) throw error
      if (failures === 1)
        log.warn(
          { waiting: name, timeout_ms: limit_ms },
          'a server does not answer yet; the start waits for it',
        )
      await sleep(delay_ms, signal)
    }
  }
}

function waitedMs(began_ms: number): number {
  return Math.round(clock.monotonic_ms() - began_ms)
}
