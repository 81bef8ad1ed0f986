/**
 * The circuit breaker of a destination (N5). With `opened_at` it is open: no try is made, except one probe after
 * `probe_at`. Otherwise it is closed and counts failures in a row.
 */
export interface Breaker {
  readonly failures: number
  /** Whether an attempt has ever succeeded, as far as is known: a breaker that is not used for a day is forgotten. */
  readonly has_succeeded?: true | undefined
  readonly opened_at?: Date | undefined
  readonly probe_at?: Date | undefined
  /** The last pause before a probe; it doubles with each probe that fails. */
  readonly pause_ms?: number | undefined
}

/** What a breaker permits now. */
type BreakerState = 'closed' | 'open' | 'half_open'

/** The breaker of a destination without attempts. */
export const NEW_BREAKER: Breaker = { failures: 0 }

const CLOSED_BREAKER: Breaker = { failures: 0, has_succeeded: true }

/** The number of failures in a row that opens a breaker. */
const FAILURES_TO_OPEN = 5

const PAUSE_MIN_MS = 30_000
const PAUSE_MAX_MS = 600_000

/** The state at an instant. In `half_open` one try may be made as the probe; the caller refuses others meanwhile. */
export function breakerState({ opened_at, probe_at }: Breaker, at: Date): BreakerState {
  if (opened_at === undefined) return 'closed'
  return probe_at !== undefined && probe_at <= at ? 'half_open' : 'open'
}

/**
 * The breaker after an attempt. While it is open only the probe counts: an attempt that began before it opened says
 * nothing new.
 */
export function breakerAfter(
  breaker: Breaker,
  { succeeded, is_probe }: { readonly succeeded: boolean; readonly is_probe: boolean },
  at: Date,
): Breaker {
  if (breaker.opened_at === undefined) {
    if (succeeded) return CLOSED_BREAKER
    const failures = breaker.failures + 1
    if (failures < FAILURES_TO_OPEN) return { ...breaker, failures }
    return withPause({ ...breaker, failures, opened_at: at }, at, PAUSE_MIN_MS)
  }
  if (!is_probe) return breaker
  if (succeeded) return CLOSED_BREAKER
  const pause_ms = Math.min((breaker.pause_ms ?? PAUSE_MIN_MS) * 2, PAUSE_MAX_MS)
  return withPause({ ...breaker, failures: breaker.failures + 1 }, at, pause_ms)
}

function withPause(breaker: Breaker, at: Date, pause_ms: number): Breaker {
  return { ...breaker, probe_at: new Date(at.getTime() + pause_ms), pause_ms }
}
