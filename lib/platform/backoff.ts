/** The bounds of an exponential back-off, in milliseconds: 0 < `first_ms` <= `max_ms`. */
export interface BackoffBounds {
  /** The longest pause after the first failure. */
  readonly first_ms: number
  /** No pause is longer than this. */
  readonly max_ms: number
}

/**
 * The pause before the next try, after `failures` failures (1 or more). The limit doubles from `first_ms` to `max_ms`;
 * `random` in [0, 1) picks a pause between half of the limit and the limit (equal jitter). Jitter keeps processes that
 * failed together from trying again together. The lower half is never used, so that a dependency which is down always
 * gets a rest, and so that the number of tries has a known shortest duration.
 */
export function backoffDelay(failures: number, { first_ms, max_ms }: BackoffBounds, random: number): number {
  const limit_ms = limitOf(failures, first_ms, max_ms)
  return limit_ms / 2 + (random * limit_ms) / 2
}

/**
 * The pause after `conflicts` lost races (1 or more) between writers. It lies anywhere between 0 and the same limit as
 * in `backoffDelay` (full jitter): a lost race does not mean that anything is down, so the pause only has to spread
 * the writers, and the widest spread ends the contention soonest.
 */
export function conflictDelay(
  conflicts: number,
  { first_ms, max_ms }: BackoffBounds,
  random: number,
): number {
  return random * limitOf(conflicts, first_ms, max_ms)
}

/** 2^n becomes Infinity for a large n, never NaN, because `first_ms` is above 0; so `max_ms` bounds every n. */
function limitOf(failures: number, first_ms: number, max_ms: number): number {
  return Math.min(first_ms * 2 ** (failures - 1), max_ms)
}
