import { update, upsert } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { clock } from '#lib/platform/time.ts'
import type { QuotaCounter } from '../store.ts'

/** So many calls in a window. Everybody who counts for one quota counts in one document. */
export interface Quota {
  readonly application_id: string
  readonly name: string
  readonly limit: number
  readonly window_ms: number
  /** When its window opens, if the name stands for one window only; else one opens with the first call after another. */
  readonly opens_at_ms?: number
}

/** What a take came to. */
export interface TokenGrant {
  /** How many calls may be admitted: as many as wait, or more for a lease, or fewer when no more are left. */
  readonly granted: number
  readonly opened_at_ms: number
  readonly exhausted: boolean
}

/** Quotas up to here are leased one by one, so that nothing of them lies unused with another process. */
const SINGLE_TOKEN_LIMIT_MAX = 1_000
const LEASE_MAX = 1_000
/** Leases shrink with what remains, so that near the limit processes do not hold much that others could use. */
const LEASE_FRACTION = 64
/** So long a document outlives its window at the least: far longer than clocks differ. */
const RETENTION_MIN_MS = 3_600_000
/** By so much the clock of another gateway may be ahead of this one. */
const CLOCK_AHEAD_MAX_MS = 300_000

/**
 * Whether the window that opened then is the one that counts now. One that a gateway opened whose clock is ahead of
 * this one does: otherwise the two would for ever reset what the other counted. One that lies too far ahead does not: a
 * clock that was wrong for a moment must not lock anybody out for as long as it was wrong by.
 */
export function isCurrentWindow(quota: Quota, opened_at_ms: number, now_ms: number): boolean {
  return quota.opens_at_ms !== undefined || isOpenWindow(quota, opened_at_ms, now_ms)
}

/** Whether anybody may still be admitted in the window that opened then, as far as this clock knows. */
export function isOpenWindow({ window_ms }: Quota, opened_at_ms: number, now_ms: number): boolean {
  const age_ms = now_ms - opened_at_ms
  return age_ms < window_ms && age_ms >= -CLOCK_AHEAD_MAX_MS
}

/** What becomes of a counter when `waiting` calls ask for their share, and how many of its tokens they get. */
export function decideGrant(
  quota: Quota,
  before: QuotaCounter | undefined,
  waiting: number,
  now_ms: number,
): { readonly granted: number; readonly counter: QuotaCounter } {
  const current = before !== undefined && isCurrentWindow(quota, before.opened_at.getTime(), now_ms)
  const counter = current ? before : openWindow(quota, now_ms)
  const remaining = Math.max(0, quota.limit - counter.used)
  const granted = Math.min(remaining, Math.max(waiting, leaseSize(quota.limit, remaining)))
  return { granted, counter: { ...counter, used: counter.used + granted } }
}

function leaseSize(limit: number, remaining: number): number {
  if (limit <= SINGLE_TOKEN_LIMIT_MAX) return 1
  return Math.min(LEASE_MAX, Math.max(1, Math.floor(remaining / LEASE_FRACTION)))
}

function openWindow({ application_id, name, window_ms, opens_at_ms }: Quota, now_ms: number): QuotaCounter {
  const opened_at_ms = opens_at_ms ?? now_ms
  const expires_at = new Date(opened_at_ms + window_ms + Math.max(window_ms, RETENTION_MIN_MS))
  return { application_id, name, opened_at: new Date(opened_at_ms), used: 0, expires_at }
}

/**
 * Takes tokens for `waiting` calls in one guarded write; none is written when nothing is left. Throws `Unavailable`;
 * after its `Ambiguous` the tokens may be gone, but nobody has them.
 */
export async function acquireTokens(
  counters: Collection<QuotaCounter>,
  quota: Quota,
  waiting: number,
): Promise<TokenGrant> {
  const { application_id, name } = quota
  let grant: TokenGrant | undefined
  await upsert(counters, { application_id, name }, (before) => {
    const { granted, counter } = decideGrant(quota, before, waiting, clock.now_ms())
    const opened_at_ms = counter.opened_at.getTime()
    grant = { granted, opened_at_ms, exhausted: counter.used >= quota.limit }
    return granted > 0 ? counter : undefined
  })
  if (grant === undefined) throw new Error('no decision was made')
  return grant
}

/**
 * Puts back what `withdraw` hands out, if the counter is still in the window of `opened_at_ms`. It is asked when a write
 * is about to go out, and from then on nobody else may have those tokens. Throws `Unavailable`: then they are not back,
 * and who handed them out may have them again. WARNING: not after its `Ambiguous`: that could admit more than the limit.
 */
export async function returnTokens(
  counters: Collection<QuotaCounter>,
  quota: Quota,
  opened_at_ms: number,
  withdraw: () => number,
): Promise<void> {
  const { application_id, name } = quota
  let tokens = 0
  await update(counters, { application_id, name }, (before) => {
    if (before.opened_at.getTime() !== opened_at_ms) return undefined
    tokens += withdraw()
    return tokens > 0 ? { ...before, used: Math.max(0, before.used - tokens) } : undefined
  })
}
