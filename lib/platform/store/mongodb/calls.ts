import { AsyncLocalStorage } from 'node:async_hooks'
import type { MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { clock, sleep, type Timer } from '#lib/platform/time.ts'
import { CallTimeout, isDeadlock, readFailure, writeFailure } from './failures.ts'

/** Runs calls to MongoDB within the store's time limit, and translates failures into the store's errors. */
export interface MongoCalls {
  /** Runs a call that changes nothing. Throws `Unavailable`. */
  read<T>(call: () => Promise<T>, limit?: Deadline): Promise<T>
  /**
   * Runs a call that writes. Repeats it when the server reports that it undid the write because of another writer. Throws
   * `Unavailable` when nothing was written, and `Ambiguous` when something may have been written.
   */
  write<T>(call: () => Promise<T>, limit?: Deadline): Promise<T>
  /** The deadline, counted from now, of an operation that consists of several calls. */
  deadline(): Deadline
}

/** The deadline of one call of the port. */
export interface Deadline {
  remaining_ms(): number
  /**
   * Waits for a state that is not readable yet, longer each time and at least `least_ms`. Throws `Unavailable` when no
   * time is left for another try.
   */
  pause(least_ms?: number): Promise<void>
}

const PAUSE_BACKOFF = { first_ms: 5, max_ms: 200 }

/**
 * The time that the driver may take to find a server, and the same again to get a connection. It is well below the limit
 * of the whole call, so that an absent server is reported as such and not as a time-out.
 */
export function selectionTimeout(timeout_ms: number): number {
  return Math.ceil(timeout_ms * 0.4)
}

/** Creates the calls of one client. */
export function createMongoCalls(client: MongoClient, timeout_ms: number): MongoCalls {
  const attempt = new AsyncLocalStorage<{ commands: number }>()
  client.on('commandStarted', () => {
    const current = attempt.getStore()
    if (current !== undefined) current.commands += 1
  })

  function deadline(): Deadline {
    const end_ms = clock.monotonic_ms() + timeout_ms
    let pauses = 0
    const remaining_ms = (): number => end_ms - clock.monotonic_ms()
    return {
      remaining_ms,
      async pause(least_ms = 0) {
        pauses += 1
        const wait_ms = Math.max(backoffDelay(pauses, PAUSE_BACKOFF, randomFraction()), least_ms)
        if (remaining_ms() <= wait_ms) throw new Unavailable('MongoDB did not settle in time')
        await sleep(wait_ms)
      },
    }
  }

  return {
    deadline,
    async read(call, limit = deadline()) {
      try {
        return await withLimit(call, limit)
      } catch (error) {
        throw readFailure(error)
      }
    },
    async write(call, limit = deadline()) {
      while (true) {
        const sent = { commands: 0 }
        const began_ms = clock.monotonic_ms()
        try {
          return await attempt.run(sent, () => withLimit(call, limit))
        } catch (error) {
          if (sent.commands > 1 || !isDeadlock(error)) throw writeFailure(error, sent.commands)
        }
        // A retry before the other writers are done would block them for the same time again.
        await limit.pause((clock.monotonic_ms() - began_ms) * (1 + randomFraction()))
      }
    },
  }
}

/** Runs a call until the deadline. The driver's own `timeoutMS` has no effect (seen with 7.9). */
async function withLimit<T>(call: () => Promise<T>, limit: Deadline): Promise<T> {
  const remaining_ms = limit.remaining_ms()
  if (remaining_ms <= 0) throw new Unavailable('MongoDB did not answer in time')
  let timer: Timer | undefined
  const overdue = new Promise<never>((_, reject) => {
    timer = clock.after(remaining_ms, () => reject(new CallTimeout('MongoDB did not answer in time')))
  })
  try {
    return await Promise.race([call(), overdue])
  } finally {
    timer?.cancel()
  }
}
