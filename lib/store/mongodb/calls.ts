import { AsyncLocalStorage } from 'node:async_hooks'
import type { MongoClient } from 'mongodb'
import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { createSemaphore } from '#lib/base/limit.ts'
import { clock, sleep, type Timer } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { CallTimeout, isDeadlock, readFailure, writeFailure } from './failures.ts'

/** The options of a read, which the driver must get: the server ends the read before its caller gives up. */
interface ReadOptions {
  readonly maxTimeMS: number
}

/** The options of a write, which the driver must get: the server ends the write before its caller gives up. */
export interface WriteOptions extends ReadOptions {
  readonly writeConcern: { readonly w: 'majority'; readonly journal: true; readonly wtimeoutMS: number }
}

/** Runs calls to MongoDB within the store's time limit, and translates failures into the store's errors. */
export type MongoCalls = ReturnType<typeof createMongoCalls>

/** The deadline of one call of the port. */
export interface Deadline {
  remaining_ms(): number
  /**
   * Waits for a state that is not readable yet, longer each time and at least `least_ms`. Throws `Unavailable` when no
   * time is left for another try.
   */
  pause(least_ms?: number): Promise<void>
}

/**
 * The part of the remaining time that the server gets for a command. It gives up first, so that a command without a
 * waiting caller does not keep its connection.
 */
const SERVER_SHARE = 0.9

/** The connections that only urgent calls use, such as one heartbeat per second. */
const URGENT_CONNECTIONS = 1

/** The part of the others that writes may use. Writes that hang, on a slow majority say, leave the rest to reads. */
const WRITE_SHARE = 0.8

const PAUSE_BACKOFF = { first_ms: 5, max_ms: 200 }

/**
 * The time that the driver may take to find a server, and the same again to get a connection. It is well below the limit
 * of the whole call, so that an absent server is reported as such and not as a time-out.
 */
export function selectionTimeout(timeout_ms: number): number {
  return Math.ceil(timeout_ms * 0.4)
}

/** Creates the calls of one client, which has up to `connections_max` connections. */
export function createMongoCalls(client: MongoClient, timeout_ms: number, connections_max: number) {
  const createLimit = (calls: string, holders_max: number) =>
    createSemaphore({
      holders_max: Math.max(1, Math.floor(holders_max)),
      refuse: () => new Unavailable(`too many ${calls} to MongoDB are in progress`),
    })
  const ordinary_max = connections_max - URGENT_CONNECTIONS
  const ordinary = createLimit('calls', ordinary_max)
  const writing = createLimit('writes', ordinary_max * WRITE_SHARE)
  const urgent = createLimit('urgent calls', URGENT_CONNECTIONS)
  const attempt = new AsyncLocalStorage<{ commands: number }>()
  client.on('commandStarted', () => {
    const current = attempt.getStore()
    if (current !== undefined) current.commands += 1
  })

  /** The deadline, counted from now, of an operation of several calls, or of one that may take `limit_ms` at most. */
  function startDeadline(limit_ms = timeout_ms): Deadline {
    const end_ms = clock.monotonic_ms() + Math.min(limit_ms, timeout_ms)
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

  async function writeWithin<T>(
    limits: readonly Semaphore[],
    call: (options: WriteOptions) => Promise<T>,
    deadline: Deadline,
  ): Promise<T> {
    while (true) {
      const sent = { commands: 0 }
      const began_ms = clock.monotonic_ms()
      try {
        return await attempt.run(sent, () => within(limits, deadline, () => call(writeOptions(deadline))))
      } catch (error) {
        if (sent.commands > 1 || !isDeadlock(error)) throw writeFailure(error, sent.commands)
      }
      // A retry before the other writers are done would block them for the same time again.
      await deadline.pause((clock.monotonic_ms() - began_ms) * (1 + randomFraction()))
    }
  }

  return {
    startDeadline,
    /** Runs a call that changes nothing. Throws `Unavailable`. */
    read: <T>(call: (options: ReadOptions) => Promise<T>, deadline = startDeadline()): Promise<T> =>
      readWithin(ordinary, call, deadline),
    /** The same for a read that waits for urgent calls only. */
    readUrgently: <T>(call: (options: ReadOptions) => Promise<T>, deadline = startDeadline()): Promise<T> =>
      readWithin(urgent, call, deadline),
    /**
     * Runs a call that writes. Repeats it when the server reports that it undid the write because of another writer. Throws
     * `Unavailable` when nothing was written, and `Ambiguous` when something may have been written.
     */
    write: <T>(call: (options: WriteOptions) => Promise<T>, deadline = startDeadline()): Promise<T> =>
      writeWithin([writing, ordinary], call, deadline),
    /** The same for a write that waits for urgent calls only. */
    writeUrgently: <T>(call: (options: WriteOptions) => Promise<T>, deadline = startDeadline()): Promise<T> =>
      writeWithin([urgent], call, deadline),
  }
}

type Semaphore = ReturnType<typeof createSemaphore>

/** Runs a call when each of the limits has room. A call that gets none before its deadline is not started. */
async function within<T>(
  limits: readonly Semaphore[],
  deadline: Deadline,
  call: () => Promise<T>,
): Promise<T> {
  const [limit, ...others] = limits
  if (limit === undefined) return await withDeadline(call, deadline)
  await limit.acquire(deadline.remaining_ms())
  try {
    return await within(others, deadline, call)
  } finally {
    limit.release()
  }
}

async function readWithin<T>(
  limit: Semaphore,
  call: (options: ReadOptions) => Promise<T>,
  deadline: Deadline,
): Promise<T> {
  try {
    return await within([limit], deadline, () => call({ maxTimeMS: serverLimitMs(deadline) }))
  } catch (error) {
    throw readFailure(error)
  }
}

/** Runs a call until the deadline. The driver's own `timeoutMS` has no effect (seen with 7.9). */
async function withDeadline<T>(call: () => Promise<T>, deadline: Deadline): Promise<T> {
  const remaining_ms = deadline.remaining_ms()
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

function serverLimitMs(deadline: Deadline): number {
  return Math.max(1, Math.floor(deadline.remaining_ms() * SERVER_SHARE))
}

function writeOptions(deadline: Deadline): WriteOptions {
  const limit_ms = serverLimitMs(deadline)
  return { maxTimeMS: limit_ms, writeConcern: { w: 'majority', journal: true, wtimeoutMS: limit_ms } }
}
