/** Something that can be stopped before it runs. */
export interface Timer {
  cancel(): void
}

/**
 * Where a process gets its time. Everything in Multihub asks this and not the machine, so that a whole system can
 * run under a simulated clock.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970. May step; never measure a duration with it. */
  now_ms(): number
  /** Time in milliseconds that only moves forward, with fractions: for durations and deadlines. */
  monotonic_ms(): number
  /** Runs `action` once after `delay_ms`; does not keep the process alive. */
  after(delay_ms: number, action: () => void): Timer
}

const machine: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
  after(delay_ms, action) {
    const handle = setTimeout(action, delay_ms)
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

let current = machine

/** The clock of this process. */
export const clock: Clock = {
  now_ms: () => current.now_ms(),
  monotonic_ms: () => current.monotonic_ms(),
  after: (delay_ms, action) => current.after(delay_ms, action),
}

/** Replaces the clock of this process (simulation and tests only) until the answered function is called. */
export function useClock(replacement: Clock): () => void {
  current = replacement
  return () => {
    current = machine
  }
}

/** The milliseconds since an instant of the monotonic clock, with at most 3 decimals: what answers and logs show. */
export function elapsedSince(started_ms: number): number {
  return Math.round((clock.monotonic_ms() - started_ms) * 1_000) / 1_000
}

/** The instant now, as documents and protos carry it. */
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

/** The result of `work`, or `undefined` when it takes longer than `timeout_ms`; the work itself goes on. */
export async function withTimeout<T>(work: Promise<T>, timeout_ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = clock.after(timeout_ms, () => late.resolve(undefined))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    timer.cancel()
  }
}

/** Calls `action` every `interval_ms` after it last ended, until cancelled. What it throws goes to `failed`. */
export function every(
  interval_ms: number,
  action: () => Promise<void>,
  failed: (error: unknown) => void,
): Timer {
  let cancelled = false
  let timer: Timer | undefined
  const schedule = (): void => {
    if (!cancelled) timer = clock.after(interval_ms, run)
  }
  const run = (): void => {
    action().catch(failed).finally(schedule)
  }
  schedule()
  return {
    cancel() {
      cancelled = true
      timer?.cancel()
    },
  }
}
