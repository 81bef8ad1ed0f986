/**
 * When a provider that has not decided is polled: first `first_ms` after the create, then in intervals that grow with the
 * age of the attempt, up to `max_ms`.
 */
export interface PollSchedule {
  readonly first_ms: number
  readonly max_ms: number
}

/** The schedule of a payment whose account is no longer configured. */
export const DEFAULT_POLL_SCHEDULE: PollSchedule = { first_ms: 60_000, max_ms: 300_000 }

/** Each interval is at most this share longer, so that payments which were created together are not polled together. */
const JITTER = 0.1

/**
 * The time until the next poll of an attempt that is `age_ms` old. It is half of the age within the bounds of the
 * schedule: a payment that just began is asked for often, one that has been open for long seldom. `random` is in [0, 1).
 */
export function pollIntervalMs({ first_ms, max_ms }: PollSchedule, age_ms: number, random: number): number {
  const interval_ms = Math.min(Math.max(age_ms / 2, first_ms), max_ms)
  return Math.round(interval_ms * (1 + JITTER * random))
}
