import { AsyncLocalStorage } from 'node:async_hooks'
import type { MongoClient } from 'mongodb'
import { clock, sleep } from '#lib/time.ts'
import { Unavailable } from '../errors.ts'
import { readFailure, writeFailure } from './failures.ts'

/** Runs calls to MongoDB within the store's time limit, and says in the store's own errors how they failed. */
export interface Calls {
  /** A call that changes nothing. Throws `Unavailable`. */
  read<T>(call: (timeoutMS: number) => Promise<T>, deadline?: Deadline): Promise<T>
  /** A call that writes. Throws `Unavailable` when nothing can have happened, `Ambiguous` when something may have. */
  write<T>(call: (timeoutMS: number) => Promise<T>, deadline?: Deadline): Promise<T>
  /** The limit of a call that consists of several, from now. */
  deadline(): Deadline
}

/** The end of the time that one call of the port may take. */
export interface Deadline {
  remaining_ms(): number
  /**
   * Waits a little, longer each time, for a state that is not readable yet; throws `Unavailable` when there is no
   * time left for another try.
   */
  pause(): Promise<void>
}

const PAUSE_MIN_MS = 5
const PAUSE_MAX_MS = 200

/**
 * The share of the time limit for choosing a server. The driver may choose once more for a retry after the time of
 * the call itself is over, so both shares together make the limit.
 */
export function selectionTimeout(timeout_ms: number): number {
  return Math.ceil(timeout_ms * 0.4)
}

/** The calls of one client. */
export function createCalls(client: MongoClient, timeout_ms: number): Calls {
  const attempt = new AsyncLocalStorage<{ commands: number }>()
  client.on('commandStarted', () => {
    const current = attempt.getStore()
    if (current !== undefined) current.commands += 1
  })

  function deadline(): Deadline {
    const end_ms = clock.monotonic_ms() + timeout_ms - selectionTimeout(timeout_ms)
    let pause_ms = PAUSE_MIN_MS
    const remaining_ms = (): number => Math.floor(end_ms - clock.monotonic_ms())
    return {
      remaining_ms,
      async pause() {
        if (remaining_ms() <= pause_ms) throw new Unavailable('MongoDB did not settle in time')
        await sleep(pause_ms)
        pause_ms = Math.min(pause_ms * 2, PAUSE_MAX_MS)
      },
    }
  }

  function timeoutOf(limit: Deadline): number {
    const remaining_ms = limit.remaining_ms()
    // The driver takes 0 for "no limit".
    if (remaining_ms < 1) throw new Unavailable('MongoDB did not answer in time')
    return remaining_ms
  }

  return {
    deadline,
    async read(call, limit = deadline()) {
      const timeoutMS = timeoutOf(limit)
      try {
        return await call(timeoutMS)
      } catch (error) {
        throw readFailure(error)
      }
    },
    async write(call, limit = deadline()) {
      const timeoutMS = timeoutOf(limit)
      const sent = { commands: 0 }
      try {
        return await attempt.run(sent, () => call(timeoutMS))
      } catch (error) {
        throw writeFailure(error, sent.commands)
      }
    },
  }
}
