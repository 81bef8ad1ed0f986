import { randomFraction } from '#lib/platform/crypto/random.ts'

const DELAY_MIN_MS = 1_000
const DELAY_MAX_MS = 24 * 3_600_000

/**
 * The wait before the next attempt, after `attempts` so far (spec: Delivery and retry, 3; N2): uniform between 0 and
 * the doubling bound, at least one second, at most a day.
 */
export function retryDelay(attempts: number, retry_delay_seconds: number, random = randomFraction()): number {
  const bound_ms = 2 ** (attempts - 1) * retry_delay_seconds * 1_000
  return Math.min(Math.max(random * bound_ms, DELAY_MIN_MS), DELAY_MAX_MS)
}
