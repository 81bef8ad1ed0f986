import { type AttemptRecord, type Delivery, withTrouble } from './delivery.ts'

/** The wait after an attempt that could not be made for a reason of this system (N7). */
const POSTPONED_MS = 10_000

const RETRY_DELAY_MIN_MS = 1_000
const RETRY_DELAY_MAX_MS = 24 * 3_600_000

/** The number of attempts that a delivery keeps. One queueing has at most 11; replays and probes add more. */
const ATTEMPTS_KEPT_MAX = 32

/**
 * How long after its creation a delivery waits again for the breaker when it fails as a probe. Without this limit, a URL
 * that no longer exists would be probed every 10 minutes until its deliveries expire.
 */
const PROBED_MS = 86_400_000

/** How often one attempt is begun again after crashes before it counts as failed: it may be what makes them crash. */
const RECLAIMS_MAX = 5

/**
 * The delivery with its next attempt in progress under the fence of the caller's lease. An attempt that another process
 * left in progress is begun again under its number. `undefined` when that has happened too often.
 */
export function beginAttempt<D extends Delivery>(
  delivery: D,
  fence: string,
  started_at: Date,
): D | undefined {
  const { attempt: left } = delivery
  const reclaims = left === undefined ? 0 : left.reclaims + 1
  if (reclaims > RECLAIMS_MAX) return undefined
  const number = left?.number ?? nextNumber(delivery)
  return { ...delivery, attempt: { number, started_at, fence, reclaims } }
}

/** The result of an attempt, which `recordAttempt` numbers. */
export type AttemptResult = Omit<AttemptRecord, 'number'>

/**
 * Adds an attempt to its delivery, which becomes delivered, is scheduled for a retry, or becomes dead (N2, N6). A dead
 * delivery that lost a try to an open breaker waits to be queued again when the breaker closes; a failed probe only within
 * a day of its creation (N5). `random` in [0, 1) picks the delay of the retry.
 */
export function recordAttempt<D extends Delivery>(
  delivery: D,
  result: AttemptResult,
  at: Date,
  random: number,
): D {
  const number = delivery.attempt?.number ?? nextNumber(delivery)
  const tries = delivery.tries + 1
  const attempts = [...delivery.attempts, { number, ...result }].slice(-ATTEMPTS_KEPT_MAX)
  const recorded = { ...delivery, attempts, tries, attempt: undefined }
  if (result.failure === undefined) return withTrouble({ ...ended(recorded), status: 'delivered' }, at)
  // A probe has one try, also when its endpoint permits more retries than before.
  if (delivery.is_probe || tries > delivery.max_retries) {
    const is_waiting = delivery.is_probe
      ? at.getTime() - delivery.created_at.getTime() < PROBED_MS
      : attempts.slice(-tries).some(({ failure }) => failure === 'breaker_open')
    const waits_since = is_waiting ? at : undefined
    return withTrouble({ ...ended(recorded), status: 'dead', waits_since }, at)
  }
  const delay_ms = retryDelayMs(tries, delivery.retry_delay_seconds, random)
  const due_at = new Date(at.getTime() + delay_ms)
  return withTrouble({ ...recorded, try_kind: 'retry', due_at }, at)
}

/** Ends an attempt that was not made for a reason of this system. The receiver loses no try (N7). */
export function postponeAttempt<D extends Delivery>(delivery: D, at: Date, postponed_ms = POSTPONED_MS): D {
  return { ...delivery, attempt: undefined, due_at: new Date(at.getTime() + postponed_ms) }
}

/** Makes a delivery wait until its endpoint has a secret. It uses up no tries (N7). */
export function blockDelivery<D extends Delivery>(delivery: D, at: Date): D {
  return withTrouble({ ...ended(delivery), attempt: undefined, status: 'blocked', waits_since: at }, at)
}

/**
 * Queues a delivery again under its old id, with fresh tries unless it has used `tries` of them. One that never had an
 * attempt is a first try again.
 */
export function queueAgain<D extends Delivery>(delivery: D, at: Date, tries = 0): D {
  const try_kind = delivery.attempts.length === 0 ? 'first' : 'retry'
  const waiting = { status: 'pending', try_kind, due_at: at, waits_since: undefined } as const
  return withTrouble({ ...delivery, ...waiting, attempt: undefined, is_probe: undefined, tries }, at)
}

/** Queues a delivery that an open breaker cost its tries for the one try of a probe (N5). */
export function queueProbe<D extends Delivery>(delivery: D, at: Date): D {
  return { ...queueAgain(delivery, at, delivery.max_retries), is_probe: true }
}

/** A pending delivery whose next try is due now; `undefined` for one that is due already, in progress or not pending. */
export function tryEarly<D extends Delivery>(delivery: D, at: Date): D | undefined {
  const { due_at, attempt } = delivery
  if (due_at === undefined || due_at <= at || attempt !== undefined) return undefined
  return { ...delivery, due_at: at }
}

/**
 * The wait before the next attempt, after `tries` so far (spec: Delivery and retry, 3; N2): uniform between 0 and a
 * bound that doubles with each try, but at least one second and at most a day.
 */
export function retryDelayMs(tries: number, retry_delay_seconds: number, random: number): number {
  const bound_ms = 2 ** (tries - 1) * retry_delay_seconds * 1_000
  return Math.min(Math.max(random * bound_ms, RETRY_DELAY_MIN_MS), RETRY_DELAY_MAX_MS)
}

function nextNumber({ attempts }: Delivery): number {
  return (attempts.at(-1)?.number ?? 0) + 1
}

function ended<D extends Delivery>(delivery: D): D {
  return { ...delivery, try_kind: undefined, due_at: undefined, is_probe: undefined }
}
