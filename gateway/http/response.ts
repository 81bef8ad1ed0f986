import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { type Exchange, elapsedMs } from './exchange.ts'
import type { ExchangeLog } from './exchange-log.ts'
import { retryHeaders } from './limit-refusal.ts'
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
      exchange.context.field = fieldOf(error)
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

/** The field that an error is about. Only the errors of `fieldError` have its path as their description. */
function fieldOf({ details }: PublicError): string | undefined {
  const path = details?.['description']
  return typeof path === 'string' ? path : undefined
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
