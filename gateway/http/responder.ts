import { toPublicError } from '#lib/rpc/errors.ts'
import { failureText, successText } from './envelope.ts'
import { type Exchange, elapsedMs } from './exchange.ts'
import type { ExchangeLog } from './exchange-log.ts'
import { drainRequest } from './fragmented-body.ts'
import { retryHeaders } from './refusal.ts'

/** Sends responses. It renders, signs, sends and logs every response to a parsed request of a signed path. */
export interface Responder {
  sendSuccess(exchange: Exchange, result: unknown): void
  /** Sends any thrown value: a `PublicError` as it is, everything else as 2001 with its cause in the log only (E7). */
  sendFailure(exchange: Exchange, error: unknown): void
}

/** Makes the responder of a gateway. */
export function createResponder(log: ExchangeLog): Responder {
  return {
    sendSuccess(exchange, result) {
      send(exchange, 200, successText(result, exchange.request_id, elapsedMs(exchange)))
      log.logSuccess(exchange, 200)
    },
    sendFailure(exchange, thrown) {
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
