import { update, upsert } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/store/store.ts'
import type { QuotaCounter } from '../store.ts'

/** A number of calls per window. All gateways count a quota in one document. */
export interface Quota {
  readonly application_id: string
  readonly name: string
  readonly limit: number
  readonly window_ms: number
  /**
   * The start of the window, for a quota with only one window, such as a UTC day. Without it a window opens with the first
   * call after the previous window.
   */
  readonly opens_at_ms?: number
}

/** Tokens that a process acquired from a counter; one token allows one call. */
export interface TokenGrant {
  /** As many tokens as callers wait; more when the grant is a lease; fewer when the quota has no more. */
  readonly granted: number
  readonly opened_at_ms: number
  readonly is_exhausted: boolean
}

/** Quotas up to this limit are granted one token at a time, so that no process holds unused tokens of them. */
const SINGLE_TOKEN_LIMIT_MAX = 1_000
const LEASE_MAX = 1_000
/** A lease is at most what remains divided by this, so that near the limit no process holds tokens that others need. */
const LEASE_DIVISOR = 64
/** How long a document outlives its window at least: far longer than clocks differ. */
const RETENTION_MIN_MS = 3_600_000
/** How far the clock of another gateway may be ahead of this one. */
const CLOCK_AHEAD_MAX_MS = 300_000

/**
 * Whether the stored window that opened at `opened_at_ms` belongs to the quota. A daily quota names its window itself,
 * so each of its documents does.
 *
 * A window from the near future is current: a gateway whose clock is ahead opened it, and otherwise the two gateways
 * would reset each other's counter endlessly. A window from the far future is not current: a clock that was wrong once
 * must not lock callers out for hours.
 */
export function isCurrentWindow(quota: Quota, opened_at_ms: number, now_ms: number): boolean {
  return quota.opens_at_ms !== undefined || isOpenWindow(quota, opened_at_ms, now_ms)
}

/** Whether calls may still be allowed at `now_ms` in the window that opened at `opened_at_ms`. */
export function isOpenWindow({ window_ms }: Quota, opened_at_ms: number, now_ms: number): boolean {
  const age_ms = now_ms - opened_at_ms
  return age_ms < window_ms && age_ms >= -CLOCK_AHEAD_MAX_MS
}

/** Decides how many tokens `waiting` callers get, and the counter after that. */
export function decideGrant(
  quota: Quota,
  before: QuotaCounter | undefined,
  waiting: number,
  now_ms: number,
): { readonly granted: number; readonly counter: QuotaCounter } {
  const is_current = before !== undefined && isCurrentWindow(quota, before.opened_at.getTime(), now_ms)
  const counter = is_current ? before : openWindow(quota, now_ms)
  const remaining = Math.max(0, quota.limit - counter.used)
  const granted = Math.min(remaining, Math.max(waiting, leaseSize(quota.limit, remaining)))
  return { granted, counter: { ...counter, used: counter.used + granted } }
}

function leaseSize(limit: number, remaining: number): number {
  if (limit <= SINGLE_TOKEN_LIMIT_MAX) return 1
  return Math.min(LEASE_MAX, Math.max(1, Math.floor(remaining / LEASE_DIVISOR)))
}

function openWindow({ application_id, name, window_ms, opens_at_ms }: Quota, now_ms: number): QuotaCounter {
  const opened_at_ms = opens_at_ms ?? now_ms
  const expires_at = new Date(opened_at_ms + window_ms + Math.max(window_ms, RETENTION_MIN_MS))
  return { application_id, name, opened_at: new Date(opened_at_ms), used: 0, expires_at }
}

/**
 * Acquires tokens for `waiting` callers at `now_ms` in one guarded write; writes nothing when no token is left. Throws
 * `Unavailable`. After an `Ambiguous` the tokens may be counted as used, but no process holds them.
 */
export async function acquireTokens(
  counters: Collection<QuotaCounter>,
  quota: Quota,
  waiting: number,
  now_ms: () => number,
): Promise<TokenGrant> {
  const { application_id, name } = quota
  let grant: TokenGrant | undefined
  await upsert(counters, { application_id, name }, (before) => {
    const { granted, counter } = decideGrant(quota, before, waiting, now_ms())
    const opened_at_ms = counter.opened_at.getTime()
    grant = { granted, opened_at_ms, is_exhausted: counter.used >= quota.limit }
    return granted > 0 ? counter : undefined
  })
  if (grant === undefined) throw new Error('the counter was updated without a decision')
  return grant
}

/**
 * Gives back the tokens that `takeUnused` returns, if the counter is still in the window of `opened_at_ms`. `takeUnused`
 * is called just before a write; after it, no caller may use those tokens.
 *
 * Throws `Unavailable` when the tokens were not given back; then the holder may use them again. WARNING: not after an
 * `Ambiguous`: the tokens may have been given back, and using them again could allow more calls than the limit.
 */
export async function giveBackTokens(
  counters: Collection<QuotaCounter>,
  quota: Quota,
  opened_at_ms: number,
  takeUnused: () => number,
): Promise<void> {
  const { application_id, name } = quota
  let tokens = 0
  await update(counters, { application_id, name }, (before) => {
    if (before.opened_at.getTime() !== opened_at_ms) return undefined
    tokens += takeUnused()
    return tokens > 0 ? { ...before, used: Math.max(0, before.used - tokens) } : undefined
  })
}
