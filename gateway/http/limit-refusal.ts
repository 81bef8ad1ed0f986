import { PublicError } from '#lib/contract/errors/public-error.ts'
import { METHODS, methodTitle, RESEND_METHOD } from '#lib/contract/methods.ts'
import { counter } from '#lib/telemetry/metrics.ts'

/** The bucket name of the daily limit in a refusal. */
export const DAILY_BUCKET = 'daily'

/** The bucket name of failed authentications in a refusal. */
export const FLOOD_BUCKET = 'authentication'

/** The bucket name of the requests in progress of a merchant in a refusal. */
export const CONCURRENCY_BUCKET = 'concurrency'

/** A quota that is used up, with what its refusal reports (E10). */
interface ExhaustedQuota {
  readonly bucket: string
  readonly limit: number
  /** Absent for a limit that has no window. */
  readonly window_ms?: number
  /** The time until calls are allowed again. It is rounded up, so that a caller that waits is allowed. */
  readonly retry_after_ms: number
}

const refusals = counter('multihub_limit_refusals_total', 'Requests refused by a limit.', ['bucket'])

/** Makes the 429 of an exhausted quota and counts it: 3009 for the daily limit, 1000 for all others. */
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
    details: {
      bucket,
      limit,
      ...(window_ms === undefined ? {} : { window_seconds: window_ms / 1000 }),
      retry_after_seconds,
    },
  })
}

/** The header with the wait of one method: `Retry-After-Payment-Notification` for `payment.notification`. */
export function retryHeaderName(method: string): string {
  return `Retry-After-${methodTitle(method, '-')}`
}

const METHOD_HEADERS: ReadonlyMap<unknown, string> = new Map(
  [...METHODS, RESEND_METHOD].map((name) => [name, retryHeaderName(name)]),
)

/**
 * The headers of a limit refusal as alternating names and values: `Retry-After`, and `Retry-After-<Method>` for the
 * bucket of a method (E10). Empty for every other error.
 */
export function retryHeaders({ http, details }: PublicError): readonly string[] {
  const seconds = details?.['retry_after_seconds']
  if (http !== 429 || typeof seconds !== 'number') return []
  const method_header = METHOD_HEADERS.get(details?.['bucket'])
  const own = method_header === undefined ? [] : [method_header, String(seconds)]
  return ['Retry-After', String(seconds), ...own]
}
