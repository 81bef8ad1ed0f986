/** A scheduled action that can still be cancelled. */
export interface Timer {
  cancel(): void
}

/**
 * The source of time of a process. All code reads it instead of the machine's clock, so that a whole system can run
 * under a simulated clock.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970. It may step back or forth: never measure a duration with it. */
  now_ms(): number
  /** Milliseconds, with fractions, that only move forward: for durations and deadlines. */
  monotonic_ms(): number
  /** Runs `action` once after `delay_ms`; does not keep the process alive. */
  after(delay_ms: number, action: () => void): Timer
  /** Runs `action` in the next turn of the event loop. A clock without it uses the machine's. */
  nextTurn?(action: () => void): void
}

/** The clock of this machine. Use `clock`, which is another one in a simulated process. */
export const machineClock: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
  after(delay_ms, action) {
    // After a pause of the process a deadline can be in the past.
    const handle = setTimeout(action, Math.max(0, delay_ms))
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Keeps the process alive until the returned function is called: for a command that waits, whose timers do not. */
export function keepProcessAlive(): () => void {
  const handle = setInterval(() => {}, 2 ** 30)
  return () => clearInterval(handle)
}

let current = machineClock

/** The clock of this process. */
export const clock: Clock = {
  now_ms: () => current.now_ms(),
  monotonic_ms: () => current.monotonic_ms(),
  after: (delay_ms, action) => current.after(delay_ms, action),
}

/** Runs `action` in the next turn of the event loop, after the work that is ready now. Keeps the process alive. */
export function nextTurn(action: () => void): void {
  if (current.nextTurn === undefined) setImmediate(action)
  else current.nextTurn(action)
}

/** Replaces the clock of this process, for simulation and tests only, until the returned function is called. */
export function useClock(replacement: Clock): () => void {
  const before = current
  current = replacement
  return () => {
    current = before
  }
}

/** The milliseconds since an instant of the monotonic clock, with at most 3 decimals, as responses and logs show them. */
export function elapsedSince(started_ms: number): number {
  return Math.round((clock.monotonic_ms() - started_ms) * 1_000) / 1_000
}

/** The present instant, as documents and protos carry it. */
export function now(): Date {
  return new Date(clock.now_ms())
}

/** Resolves after `delay_ms`, or at once when `signal` is aborted. Does not keep the process alive. */
export function sleep(delay_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const stop = (): void => {
      timer.cancel()
      resolve()
    }
    const timer = clock.after(delay_ms, () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Resolves with the result of `work`, or with `undefined` after `timeout_ms`. The work itself is not cancelled. */
export async function withTimeout<T>(work: Promise<T>, timeout_ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = clock.after(timeout_ms, () => late.resolve(undefined))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    timer.cancel()
  }
}

/** An action that is repeated until it is cancelled. */
export interface Repetition extends Timer {
  /** Cancels it, and resolves when a run in progress has ended. */
  stop(): Promise<void>
}

/** Calls `action` after `first_ms`, and again `interval_ms` after each end of it. Its errors go to `onError`. */
export function every(
  interval_ms: number,
  action: () => Promise<void>,
  onError: (error: unknown) => void,
  first_ms = interval_ms,
): Repetition {
  let cancelled = false
  let timer: Timer | undefined
  let running = Promise.resolve()
  const schedule = (pause_ms = interval_ms): void => {
    if (!cancelled) timer = clock.after(pause_ms, run)
  }
  const run = (): void => {
    running = action()
      .catch(onError)
      .finally(() => schedule())
  }
  const cancel = (): void => {
    cancelled = true
    timer?.cancel()
  }
  schedule(first_ms)
  return {
    cancel,
    async stop() {
      cancel()
      await running
    },
  }
}
