import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { publicErrorOf } from '#lib/platform/rpc/translate-errors.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import { drainRequest } from '../hostile-connections/fragmented-body.ts'
import { isFloodRefusal, retryHeaders } from '../limits/refusal.ts'
import { failureText, successText } from './envelope.ts'
import { type Exchange, elapsedMs } from './exchange.ts'
import { singleHeader } from './headers.ts'

/** Answers a request. The one place where bytes leave: they are made, signed, sent and logged here. */
export interface Responder {
  sendSuccess(exchange: Exchange, result: unknown): void
  /** Anything that was thrown: a `PublicError` as it is, a fault as 2001 with its cause in the log only (E7). */
  sendFailure(exchange: Exchange, error: unknown): void
}

/** Makes the answerer of a gateway. */
export function createResponder(log: Log): Responder {
  return {
    sendSuccess(exchange, result) {
      send(exchange, 200, successText(result, exchange.request_id, elapsedMs(exchange)))
      logExchange(log, exchange, 200)
    },
    sendFailure(exchange, thrown) {
      const error = publicErrorOf(thrown)
      send(
        exchange,
        error.http,
        failureText(error, exchange.request_id, elapsedMs(exchange)),
        retryHeaders(error),
      )
      // A metric counts those: strangers must not fill the log, nor pay for it with the time of others.
      if (isFloodRefusal(error)) return
      logFault(log, exchange, error)
      logExchange(log, exchange, error.http, error.code)
    },
  }
}

function send(
  { request, response, request_id, context: found }: Exchange,
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
  if (found.sign !== undefined) headers.push(...found.sign({ request_id, http_status, body }))
  response.writeHead(http_status, headers)
  // As a text it leaves in one write with its head, which a buffer does not; the bytes are the same.
  response.end(text)
  if (!request.complete) drainRequest(request, response)
}

/**
 * A refusal is the caller's affair; a fault or a dependency that is down is ours. Of a 2002 without a cause the line of
 * the exchange says all there is: an outage must not fill the log with more.
 */
function logFault(log: Log, { request_id }: Exchange, { code, cause }: PublicError): void {
  if (code === 2001) log.error({ request_id, error: cause }, 'a request met an unexpected fault')
  else if (code === 2002 && cause !== undefined) {
    log.warn({ request_id, error: cause }, 'a request met a dependency that is down')
  }
}

/** The form of a caller's own name for a request. One of another form is not logged. */
export const CLIENT_REQUEST_ID = /^[\x21-\x7e]{1,128}$/

function logExchange(log: Log, exchange: Exchange, http_status: number, code?: number): void {
  const { request, request_id, context: found } = exchange
  const client_request_id = singleHeader(request.rawHeaders, 'x-request-id')
  const { application_id, merchant_id, environment, method } = found
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
