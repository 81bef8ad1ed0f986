import { clock } from './time.ts'

/** Gives back what was taken from a limit. Only the first call has an effect. */
export type Release = () => void

/** Makes a `Release` of an action, so that a second call does nothing. */
export function once(action: () => void): Release {
  let is_done = false
  return () => {
    if (is_done) return
    is_done = true
    action()
  }
}

/** Counts what is under way, by key. Nothing waits here, and a key without anything under way takes no memory. */
export function createKeyedCount() {
  const counts = new Map<string, number>()
  const countOf = (key: string): number => counts.get(key) ?? 0
  return {
    of: countOf,
    /** Counts one more; returns the function that ends it. `undefined` when the key has reached the limit. */
    begin(key: string, limit: number): Release | undefined {
      const before = countOf(key)
      if (before >= limit) return undefined
      counts.set(key, before + 1)
      return once(() => {
        const left = countOf(key) - 1
        if (left === 0) counts.delete(key)
        else counts.set(key, left)
      })
    },
  }
}

/** Creates a rate of `max` per `interval_ms`. A window begins with the first look after the one before has ended. */
export function createRate(max: number, interval_ms: number) {
  let opened_ms = Number.NEGATIVE_INFINITY
  let used = 0
  const hasRoom = (): boolean => {
    const now_ms = clock.monotonic_ms()
    if (now_ms - opened_ms >= interval_ms) {
      opened_ms = now_ms
      used = 0
    }
    return used < max
  }
  return {
    hasRoom,
    /** Uses one of the window, if there is room. */
    use(): boolean {
      if (!hasRoom()) return false
      used += 1
      return true
    },
  }
}

interface SemaphoreLimits {
  readonly holders_max: number
  /** One more waiter is refused at once; no limit unless given. */
  readonly waiting_max?: number
  /** Makes the error of a waiter that is refused. */
  readonly refuse?: () => Error
}

/** Creates a counting semaphore, which serves its waiters in the order of their calls. */
export function createSemaphore({
  holders_max,
  waiting_max = Number.POSITIVE_INFINITY,
  refuse = () => new Error('too many wait'),
}: SemaphoreLimits) {
  const waiting = new Set<() => void>()
  let holders = 0
  return {
    /** `undefined` when the semaphore is acquired at once, otherwise a promise of it, which waits `wait_max_ms` if given. */
    acquire(wait_max_ms?: number): Promise<void> | undefined {
      if (holders < holders_max) {
        holders += 1
        return undefined
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      if (waiting.size >= waiting_max) reject(refuse())
      else waiting.add(resolve)
      if (wait_max_ms === undefined) return promise
      const timer = clock.after(Math.max(0, wait_max_ms), () => {
        if (waiting.delete(resolve)) reject(refuse())
      })
      return promise.finally(() => timer.cancel())
    },
    /** Gives back what `acquire` took, to the first waiter if there is one. */
    release(): void {
      const [next] = waiting
      if (next === undefined) holders -= 1
      else {
        waiting.delete(next)
        next()
      }
    },
  }
}
