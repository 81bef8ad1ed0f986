import { PublicError } from '#lib/contract/errors/public-error.ts'
import { METHODS, RESEND_BUCKET } from '#lib/contract/vocabulary.ts'
import { counter } from '#lib/platform/telemetry/metrics.ts'
import { titled } from '../methods/titled.ts'

/** The bucket that a credential's daily limit is called by in a refusal. */
export const DAILY_BUCKET = 'daily'

/** The bucket that failed proofs are called by in a refusal. */
export const FLOOD_BUCKET = 'authentication'

/** A quota that is used up, as its caller is told of it (E10). */
export interface ExhaustedQuota {
  readonly bucket: string
  readonly limit: number
  readonly window_ms: number
  /** How long until there is room again. A caller that waits for what it is told must find some: it is rounded up. */
  readonly retry_after_ms: number
}

const refusals = counter('multihub_limit_refusals_total', 'Requests refused by a limit.', ['bucket'])

/** Makes the 429 of an exhausted quota, 3009 for the daily limit and 1000 for every other, and counts it. */
export function createLimitRefusal({
  bucket,
  limit,
  window_ms,
  retry_after_ms,
}: ExhaustedQuota): PublicError {
  refusals.increment({ bucket })
  const retry_after_seconds = Math.max(1, Math.ceil(retry_after_ms / 1000))
  return new PublicError(bucket === DAILY_BUCKET ? 3009 : 1000, {
    http: 429,
    details: { bucket, limit, window_seconds: window_ms / 1000, retry_after_seconds },
  })
}

/** `payment.notification` has `Retry-After-Payment-Notification`. */
const METHOD_HEADERS: ReadonlyMap<unknown, string> = new Map(
  [...METHODS, RESEND_BUCKET].map((name) => [name, `Retry-After-${titled(name, '-')}`]),
)

/**
 * The headers of a refusal, names and values in turn: `Retry-After`, and `Retry-After-<Method>` when it was the bucket
 * of a method (E10). None when the error is no such refusal.
 */
export function retryHeaders({ http, details }: PublicError): readonly string[] {
  const seconds = details?.['retry_after_seconds']
  if (http !== 429 || typeof seconds !== 'number') return []
  const method_header = METHOD_HEADERS.get(details?.['bucket'])
  const own = method_header === undefined ? [] : [method_header, String(seconds)]
  return ['Retry-After', String(seconds), ...own]
}

/** Whether this is how those are refused whose proofs failed too often. */
export function isFloodRefusal({ details }: PublicError): boolean {
  return details?.['bucket'] === FLOOD_BUCKET
}
