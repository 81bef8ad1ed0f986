import { AsyncLocalStorage } from 'node:async_hooks'
import type { MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { clock, sleep, type Timer } from '#lib/platform/time.ts'
import { CallTimeout, isDeadlock, readFailure, writeFailure } from './failures.ts'

/** Runs calls to MongoDB within the store's time limit, and says in the store's own errors how they failed. */
export interface MongoCalls {
  /** A call that changes nothing. Throws `Unavailable`. */
  read<T>(call: () => Promise<T>, limit?: Deadline): Promise<T>
  /**
   * A call that writes; it is made again when the server says that it undid it for another writer's sake. Throws
   * `Unavailable` when nothing can have happened, `Ambiguous` when something may have.
   */
  write<T>(call: () => Promise<T>, limit?: Deadline): Promise<T>
  /** The limit of a call that consists of several, from now. */
  deadline(): Deadline
}

/** The end of the time that one call of the port may take. */
export interface Deadline {
  remaining_ms(): number
  /**
   * Waits a little, longer each time, for a state that is not readable yet; throws `Unavailable` when there is no
   * time left for another try. `least_ms` is for a state that is known to take as long.
   */
  pause(least_ms?: number): Promise<void>
}

const PAUSE_BACKOFF = { first_ms: 5, max_ms: 200 }

/**
 * How long the driver may look for a server, and as long again for a connection to it: well within the limit of the
 * whole call, so that "nobody there" is told as such and not as a time-out of who knows what.
 */
export function selectionTimeout(timeout_ms: number): number {
  return Math.ceil(timeout_ms * 0.4)
}

/** The calls of one client. */
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
        // Whoever is back before the rest have sorted themselves out holds them up for as long again.
        await limit.pause((clock.monotonic_ms() - began_ms) * (1 + randomFraction()))
      }
    },
  }
}

/** Runs a call for as long as there is time; the driver's own `timeoutMS` does nothing (7.9). */
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
