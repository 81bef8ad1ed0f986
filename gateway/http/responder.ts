import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { toPublicError } from '#lib/platform/rpc/translate-errors.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import { drainRequest } from '../hostile-connections/fragmented-body.ts'
import { isFloodRefusal, retryHeaders } from '../limits/refusal.ts'
import { failureText, successText } from './envelope.ts'
import { type Exchange, elapsedMs } from './exchange.ts'
import { singleHeader } from './headers.ts'

/** Sends responses. It renders, signs, sends and logs every response to a parsed request of a signed path. */
export interface Responder {
  sendSuccess(exchange: Exchange, result: unknown): void
  /** Sends any thrown value: a `PublicError` as it is, everything else as 2001 with its cause in the log only (E7). */
  sendFailure(exchange: Exchange, error: unknown): void
}

/** Makes the responder of a gateway. */
export function createResponder(log: Log): Responder {
  return {
    sendSuccess(exchange, result) {
      send(exchange, 200, successText(result, exchange.request_id, elapsedMs(exchange)))
      logExchange(log, exchange, 200)
    },
    sendFailure(exchange, thrown) {
      const error = toPublicError(thrown)
      send(
        exchange,
        error.http,
        failureText(error, exchange.request_id, elapsedMs(exchange)),
        retryHeaders(error),
      )
      // Flood refusals are counted by a metric only: unauthenticated callers must not fill the log.
      if (isFloodRefusal(error)) return
      logFault(log, exchange, error)
      logExchange(log, exchange, error.http, error.code)
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

/**
 * Logs faults and dependencies that are down; refusals are the caller's concern. A 2002 without a cause is logged by the
 * line of the exchange only, so that an outage does not fill the log.
 */
function logFault(log: Log, { request_id }: Exchange, { code, cause }: PublicError): void {
  if (code === 2001) log.error({ request_id, error: cause }, 'request failed with an unexpected fault')
  else if (code === 2002 && cause !== undefined) {
    log.warn({ request_id, error: cause }, 'request failed because a dependency is unavailable')
  }
}

/** The form of a caller's own request id. A value of another form is not logged. */
export const CLIENT_REQUEST_ID = /^[\x21-\x7e]{1,128}$/

function logExchange(log: Log, exchange: Exchange, http_status: number, code?: number): void {
  const { request, request_id, context } = exchange
  const client_request_id = singleHeader(request.rawHeaders, 'x-request-id')
  const { application_id, merchant_id, environment, method } = context
  log.info(
    {
      request_id,
      method,
      http_status,
      code,
      duration_ms: elapsedMs(exchange),
      application_id,
      merchant_id,
      environment,
      client_request_id:
        client_request_id !== undefined && CLIENT_REQUEST_ID.test(client_request_id)
          ? client_request_id
          : undefined,
    },
    'request answered',
  )
}
