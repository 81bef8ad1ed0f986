import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { hasHeader, singleHeader } from '../http/request-head.ts'
import type { NonceStore } from './nonce-store.ts'

/** What protects a request from being replayed. */
export interface ReplayPair {
  /** When the request was made, in Unix seconds. */
  readonly timestamp: string
  /** A text that the application uses once. */
  readonly nonce: string
}

/** How a signature scheme checks replay pairs. */
export interface ReplayRule {
  /** How far a timestamp may be from the current second, in either direction; both limits are accepted. */
  readonly window_ms: number
  /** Whether to accept a request when the store cannot tell if its nonce is new. Never on v2 (spec: v2 request headers). */
  readonly accept_if_store_down: boolean
}

/** What the check of replay pairs needs. */
export interface ReplayCheckDeps {
  readonly nonces: NonceStore
  /** The time by which a timestamp is fresh: the clock of the store, which all gateways share (R8). */
  readonly now_ms: () => number
  readonly log: Log
}

/** The largest difference between the clocks of two gateways, or of a gateway and its store. */
const CLOCK_SKEW_MAX_MS = 60_000

const SECOND_MS = 1_000

/** The form of a timestamp: Unix seconds. */
export const TIMESTAMP_PATTERN = /^[0-9]{1,12}$/

const unverified_nonces = counter(
  'multihub_gateway_nonces_unverified_total',
  'Requests whose nonce could not be checked because the store was unavailable, by outcome (accepted or refused).',
  ['outcome'],
)

/**
 * Reads the replay pair of a request; `undefined` when neither header was sent. Throws 3000 when only one was sent, or
 * one is repeated or malformed (A4).
 */
export function readReplayPair(
  raw_headers: readonly string[],
  nonce_pattern: RegExp,
): ReplayPair | undefined {
  const is_sent = hasHeader(raw_headers, 'x-data-timestamp') || hasHeader(raw_headers, 'x-data-nonce')
  if (!is_sent) return undefined
  const timestamp = singleHeader(raw_headers, 'x-data-timestamp')
  const nonce = singleHeader(raw_headers, 'x-data-nonce')
  if (timestamp === undefined || !TIMESTAMP_PATTERN.test(timestamp)) throw new PublicError(3000)
  if (nonce === undefined || !nonce_pattern.test(nonce)) throw new PublicError(3000)
  return { timestamp, nonce }
}

/**
 * How long a nonce must be stored: from the first instant at which one gateway accepts its timestamp to the last instant
 * at which another gateway does (A3).
 */
export function nonceTtlMs(window_ms: number): number {
  return 2 * window_ms + SECOND_MS + CLOCK_SKEW_MAX_MS
}

/**
 * Makes the check that accepts each pair once. It consumes the nonce, so call it after all other checks of
 * authentication.
 */
export function createReplayCheck(
  { nonces, now_ms, log }: ReplayCheckDeps,
  { window_ms, accept_if_store_down }: ReplayRule,
) {
  return async (application_id: string, { timestamp, nonce }: ReplayPair): Promise<void> => {
    // Whole seconds, as in timestamps: a timestamp is fresh until the end of its last second.
    const age_seconds = Math.floor(now_ms() / SECOND_MS) - Number(timestamp)
    if (Math.abs(age_seconds) * SECOND_MS > window_ms) throw new PublicError(3000)
    const result = await nonces.consume(application_id, nonce)
    if (result === 'consumed') return
    if (result === 'reused') throw new PublicError(3000)
    unverified_nonces.increment({ outcome: accept_if_store_down ? 'accepted' : 'refused' })
    if (!accept_if_store_down) throw new PublicError(2002, { http: 503 })
    log.warn(
      { application_id },
      'nonce could not be checked; the request was accepted by its signature alone',
    )
  }
}
