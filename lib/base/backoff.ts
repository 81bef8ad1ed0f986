/** The bounds of an exponential back-off, in milliseconds: 0 < `first_ms` <= `max_ms`. */
export interface BackoffBounds {
  /** The longest pause after the first failure. */
  readonly first_ms: number
  /** No pause is longer than this. */
  readonly max_ms: number
}

/**
 * The pause before the next try, after `failures` failures or lost races (1 or more): exponential back-off with full
 * jitter. The limit doubles from `first_ms` to `max_ms`, and `random` in [0, 1) picks a pause between 0 and the limit.
 * The wide range spreads processes that failed together, so that they do not meet again. The average pause is half of
 * the limit.
 */
export function backoffDelay(failures: number, { first_ms, max_ms }: BackoffBounds, random: number): number {
  // 2^n becomes Infinity for a large n, never NaN, because `first_ms` is above 0; so `max_ms` bounds every n.
  return random * Math.min(first_ms * 2 ** (failures - 1), max_ms)
}
