/**
 * The limits of effects that only write to the store of this service: they fail only while it is unavailable, so they are
 * repeated for days before one waits for the operator.
 */
export const STORE_EFFECT_LIMITS = {
  lease_ms: 5_000,
  tries_max: 20_000,
  backoff: { first_ms: 1_000, max_ms: 30_000 },
} as const
