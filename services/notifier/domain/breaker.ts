/**
 * The circuit breaker of a destination (N5). With `opened_at` it is open: no try is made, except one probe after
 * `probe_at`. Otherwise it is closed and counts failures in a row.
 */
export interface Breaker {
  /** The failures in a row that count. */
  readonly failures: number
  /** Of an origin: the hashes of the URLs of the last failures in a row that say something about it; at most five. */
  readonly failed_urls?: readonly string[] | undefined
  /** Of an origin: the hash of the URL that was used last, and when it followed another one. */
  readonly last_url?: string | undefined
  readonly other_url_at?: Date | undefined
  /** Whether an attempt has ever succeeded, as far as is known: a breaker that is not used for a day is forgotten. */
  readonly has_succeeded?: true | undefined
  readonly opened_at?: Date | undefined
  readonly probe_at?: Date | undefined
  /** The last pause before a probe; it doubles with each probe that fails by itself. */
  readonly pause_ms?: number | undefined
  /** When the operator last asked for a probe while it was open. */
  readonly asked_at?: Date | undefined
  /** The last failure that counted. */
  readonly last_failure?: CountedFailure | undefined
}

/** Why an attempt failed, with the HTTP status if there was a response. */
export interface CountedFailure {
  readonly failure: string
  readonly http_status?: number | undefined
}

/** What a breaker permits now. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** The breaker of a destination without attempts. */
export const NEW_BREAKER: Breaker = { failures: 0 }

/**
 * What an attempt says about its destination. After a `server_error` it is not known whether the whole origin fails or only
 * one of its URLs. An `unrelated` failure concerns its delivery alone.
 */
export type Verdict = 'success' | 'failure' | 'server_error' | 'unrelated'

interface JudgedAttempt {
  readonly verdict: Verdict
  readonly is_probe: boolean
  /** The hash of its URL; absent for an endpoint, which has one URL. */
  readonly url?: string | undefined
  /** Absent after a success. */
  readonly failure?: CountedFailure | undefined
}

/** The number of failures in a row that opens a breaker. */
const FAILURES_TO_OPEN = 5

const PAUSE_MIN_MS = 30_000
const PAUSE_MAX_MS = 600_000

/** An origin that had only one URL for a day is used with that URL alone. */
const SOLE_URL_MS = 86_400_000

/** Two probes that are asked for are at least this far apart, so that no caller can flood a receiver that fails. */
const ASK_PAUSE_MS = 5_000

/** For how long a probe that was asked for takes a delivery that is not due. An owner that was lost is replaced long before. */
const ASK_KEPT_MS = 30_000

/** The state at an instant. In `half_open` one try may be made as the probe; the caller refuses others meanwhile. */
export function breakerState({ opened_at, probe_at }: Breaker, at: Date): BreakerState {
  if (opened_at === undefined) return 'closed'
  return probe_at !== undefined && probe_at <= at ? 'half_open' : 'open'
}

/**
 * The breaker after an attempt. While it is open only the probe counts: an attempt that began before it opened says
 * nothing new. A probe with an unrelated failure, or that the operator asked for, does not double the pause.
 */
export function breakerAfter(before: Breaker, attempt: JudgedAttempt, at: Date): Breaker {
  const { verdict, is_probe } = attempt
  const breaker = withUrl(before, attempt, at)
  if (breaker.opened_at === undefined) {
    if (verdict === 'success') return closed(breaker)
    const counted = countFailure(breaker, attempt, at)
    if (counted.failures < FAILURES_TO_OPEN) return counted
    return withPause({ ...counted, opened_at: at }, at, PAUSE_MIN_MS)
  }
  if (!is_probe) return breaker
  if (verdict === 'success') return closed(breaker)
  const { pause_ms = PAUSE_MIN_MS, last_failure } = breaker
  if (verdict === 'unrelated') return withPause(breaker, at, pause_ms)
  const failed = { ...breaker, failures: breaker.failures + 1, last_failure: attempt.failure ?? last_failure }
  return withPause(failed, at, isAsked(breaker) ? pause_ms : Math.min(pause_ms * 2, PAUSE_MAX_MS))
}

/** The breaker of which a probe is asked now. The same one while it is closed, and a moment after it was asked last. */
export function askProbe<B extends Breaker>(breaker: B, at: Date): B {
  const { opened_at, asked_at } = breaker
  const is_early = asked_at !== undefined && at.getTime() - asked_at.getTime() < ASK_PAUSE_MS
  return opened_at === undefined || is_early ? breaker : { ...breaker, probe_at: at, asked_at: at }
}

/** The breaker that its owner has in memory, with a probe that was asked for in the store meanwhile. */
export function withAsked(owned: Breaker, { asked_at }: Breaker): Breaker {
  const { opened_at } = owned
  if (asked_at === undefined || opened_at === undefined) return owned
  const is_known = asked_at < opened_at || (owned.asked_at !== undefined && owned.asked_at >= asked_at)
  return is_known ? owned : { ...owned, probe_at: asked_at, asked_at }
}

/** Whether a probe was asked for and has no result yet. */
export function isAsked({ opened_at, probe_at, asked_at }: Breaker): boolean {
  return opened_at !== undefined && asked_at !== undefined && probe_at !== undefined && probe_at <= asked_at
}

/** Whether a delivery that is not due is the probe now: for a while after it was asked for. */
export function takesEarly(breaker: Breaker, at: Date): boolean {
  return isAsked(breaker) && at.getTime() - (breaker.asked_at?.getTime() ?? 0) < ASK_KEPT_MS
}

function closed({ last_url, other_url_at }: Breaker): Breaker {
  return { failures: 0, has_succeeded: true, last_url, other_url_at }
}

function withUrl(breaker: Breaker, { url }: JudgedAttempt, at: Date): Breaker {
  const { last_url } = breaker
  if (url === undefined || url === last_url) return breaker
  return { ...breaker, last_url: url, other_url_at: last_url === undefined ? undefined : at }
}

/**
 * Server errors count once the last failures name two URLs, the earlier ones too, or while one URL is all that is used.
 * Otherwise one broken URL of many would stop the callbacks of all.
 */
function countFailure(before: Breaker, { verdict, url, failure }: JudgedAttempt, at: Date): Breaker {
  if (verdict === 'unrelated') return before
  const breaker = failure === undefined ? before : { ...before, last_failure: failure }
  const { failures, other_url_at } = breaker
  if (url === undefined) return { ...breaker, failures: failures + 1 }
  const failed_urls = [...(breaker.failed_urls ?? []), url].slice(-FAILURES_TO_OPEN)
  const is_sole = other_url_at === undefined || at.getTime() - other_url_at.getTime() > SOLE_URL_MS
  if (is_sole || new Set(failed_urls).size > 1)
    return { ...breaker, failed_urls, failures: Math.max(failures + 1, failed_urls.length) }
  return { ...breaker, failed_urls, failures: verdict === 'failure' ? failures + 1 : failures }
}

function withPause(breaker: Breaker, at: Date, pause_ms: number): Breaker {
  return { ...breaker, probe_at: new Date(at.getTime() + pause_ms), pause_ms }
}
