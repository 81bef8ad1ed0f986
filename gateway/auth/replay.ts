import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import { counter } from '#lib/platform/telemetry/metrics.ts'
import { clock } from '#lib/platform/time.ts'
import { hasHeader, singleHeader } from '../http/headers.ts'
import type { NonceStore } from './nonce-store.ts'

/** What keeps a request from being sent twice: when it was made, in Unix seconds, and a text that is used once. */
export interface ReplayPair {
  readonly timestamp: string
  readonly nonce: string
}

/** How a route judges the pairs of its requests. */
export interface ReplayRule {
  /** How far a timestamp may be from the second that it is now, the edges included. */
  readonly window_ms: number
  /** Whether a request goes on although nobody can say if its nonce is new: never on v2 (spec: v2 headers). */
  readonly accept_if_store_down: boolean
}

/** How far the clocks of two gateways, and of their store, are taken to differ at the most. */
const CLOCK_SKEW_MAX_MS = 60_000

const SECOND_MS = 1_000

/** The form of a timestamp: Unix seconds. */
export const TIMESTAMP_PATTERN = /^[0-9]{1,12}$/

const unsure = counter(
  'multihub_gateway_nonces_unverified_total',
  'Requests whose nonce could not be reserved, by what became of them.',
  ['outcome'],
)

/**
 * The pair of a request, `undefined` when neither header was sent. One alone, or one that is repeated or malformed,
 * is 3000 (A4).
 */
export function readReplayPair(raw_headers: readonly string[], nonce_form: RegExp): ReplayPair | undefined {
  const sent = hasHeader(raw_headers, 'x-data-timestamp') || hasHeader(raw_headers, 'x-data-nonce')
  if (!sent) return undefined
  const timestamp = singleHeader(raw_headers, 'x-data-timestamp')
  const nonce = singleHeader(raw_headers, 'x-data-nonce')
  if (timestamp === undefined || !TIMESTAMP_PATTERN.test(timestamp)) throw new PublicError(3000)
  if (nonce === undefined || !nonce_form.test(nonce)) throw new PublicError(3000)
  return { timestamp, nonce }
}

/**
 * How long a nonce has to be remembered: from the first instant at which one gateway takes its timestamp to the last
 * at which another one does (A3).
 */
export function nonceTtlMs(window_ms: number): number {
  return 2 * window_ms + SECOND_MS + CLOCK_SKEW_MAX_MS
}

/** Makes the check that lets a pair through once: it spends the nonce, so it comes after everything that it rests on. */
export function createReplayCheck(
  nonces: NonceStore,
  { window_ms, accept_if_store_down: goes_on_unsure }: ReplayRule,
  log: Log,
) {
  return async (application_id: string, { timestamp, nonce }: ReplayPair): Promise<void> => {
    // In whole seconds, as timestamps are: the last one that is fresh is so until it ends.
    const age_seconds = Math.floor(clock.now_ms() / SECOND_MS) - Number(timestamp)
    if (Math.abs(age_seconds) * SECOND_MS > window_ms) throw new PublicError(3000)
    const outcome = await nonces.consume(application_id, nonce)
    if (outcome === 'consumed') return
    if (outcome === 'reused') throw new PublicError(3000)
    unsure.increment({ outcome: goes_on_unsure ? 'accepted' : 'refused' })
    if (!goes_on_unsure) throw new PublicError(2002, { http: 503 })
    log.warn({ application_id }, 'a nonce could not be reserved: the request went on by its signature alone')
  }
}
