import { PublicError } from '#lib/contract/errors/public-error.ts'
import { METHODS, methodTitle, RESEND_METHOD } from '#lib/contract/methods.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { type Exchange, elapsedMs } from './exchange.ts'
import type { ExchangeLog } from './exchange-log.ts'
import { drainRequest } from './request-body.ts'

/** Sends responses. */
export type Responder = ReturnType<typeof createResponder>

/** Makes what renders, signs, sends and logs every response to a parsed request of a signed path. */
export function createResponder(log: ExchangeLog) {
  return {
    sendSuccess(exchange: Exchange, result: unknown): void {
      send(exchange, 200, successText(result, exchange.request_id, elapsedMs(exchange)))
      log.logSuccess(exchange, 200)
    },
    /** Sends any thrown value: a `PublicError` as it is, everything else as 2001 with its cause in the log only (E7). */
    sendFailure(exchange: Exchange, thrown: unknown): void {
      const error = toPublicError(thrown)
      exchange.context.code = error.code
      send(
        exchange,
        error.http,
        failureText(error, exchange.request_id, elapsedMs(exchange)),
        retryHeaders(error),
      )
      log.logFailure(exchange, error)
    },
  }
}

function send(
  { request, response, request_id, context }: Exchange,
  http_status: number,
  text: string,
  more_headers: readonly string[] = [],
): void {
  const body = Buffer.from(text)
  const headers = [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(body.length),
    'Cache-Control',
    'no-store',
    'X-Request-ID',
    request_id,
    ...more_headers,
  ]
  if (context.sign !== undefined) headers.push(...context.sign({ request_id, http_status, body }))
  response.writeHead(http_status, headers)
  // Node sends a string in one write with the head, and a buffer in a second write. The bytes are the same.
  response.end(text)
  if (!request.complete) drainRequest(request, response)
}

/** Renders the envelope of a success (E2). `result` must be plain JSON; the other values need no escaping. */
function successText(result: unknown, request_id: string, processing_time: number): string {
  const text = JSON.stringify(result)
  return `{"success":true,"result":${text},"request_id":"${request_id}","processing_time":${processing_time}}`
}

/** Renders the envelope of a failure (E2). `details` and `context` are always present, as `null` if need be. */
export function failureText(
  { code, message, details, context }: PublicError,
  request_id: string,
  processing_time: number,
): string {
  return JSON.stringify({
    success: false,
    result: null,
    error: { code, message, details: details ?? null, context: context ?? null },
    request_id,
    processing_time,
  })
}

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
