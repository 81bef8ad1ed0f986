import type { IncomingMessage, ServerResponse } from 'node:http'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock, elapsedSince, now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { createsPayment } from '#lib/contract/methods.ts'
import { failureTraceOf, recordPastSpan } from '#lib/telemetry/failure-trace.ts'
import { histogram, level } from '#lib/telemetry/metrics.ts'
import type { Span, SpanDescription, SpanFields } from '#lib/telemetry/span.ts'

/** The parts of a response that a signature can cover. */
export interface SignableResponse {
  readonly request_id: string
  readonly http_status: number
  /** The bytes exactly as they are sent. */
  readonly body: Uint8Array
}

/** Signs a response; returns the name and the value of the signature header. */
export type SignResponse = (response: SignableResponse) => readonly [name: string, value: string]

/** The ids by which people look for a payment: our own id, the merchant's reference, and our public id. */
export interface PaymentIds {
  readonly payment_id?: string | undefined
  readonly c_id?: string | undefined
  readonly h_id?: string | undefined
  /** Whether it has failed, as far as the response says. */
  readonly has_failed?: boolean
}

/** What is known of a request so far. The response and the log line need it after a failure at any step too. */
interface ExchangeContext {
  /** Set when the caller's signature is verified; from then on every response is signed, refusals too (A5). */
  sign?: SignResponse
  application_id?: string | undefined
  merchant_id?: string | undefined
  environment?: Environment | undefined
  /** The merchant of the application that the request names, whether or not its signature is right. */
  claimed?: { readonly merchant_id: string; readonly environment: Environment } | undefined
  method?: string | undefined
  /** The payment that the request is about, as far as it is known. */
  payment?: PaymentIds
  /** The code of the error table that the response carries; absent for a success. */
  code?: ErrorCode
  /** The path of the field that the response refuses. */
  field?: string | undefined
}

/** One request and its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Made by the gateway (E1); the caller's own request id is only logged. */
  readonly request_id: string
  /**
   * When the head had arrived, on the monotonic clock. For a head of one packet that is when its first byte arrived.
   * Listening for the first byte would detach the parser from the socket, which costs 4 us: a fifth of what bare Node
   * needs per request.
   */
  readonly started_ms: number
  readonly context: ExchangeContext
}

/** Starts an exchange: its clock and its request id. */
export function beginExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  return { request, response, request_id: uuidv7(), started_ms: clock.monotonic_ms(), context: {} }
}

/** The time since the start of an exchange in milliseconds, with at most 3 decimals (E3). */
export function elapsedMs({ started_ms }: Exchange): number {
  return elapsedSince(started_ms)
}

const seconds = histogram(
  'multihub_gateway_request_seconds',
  'Duration of public requests, by method (none before it is known) and code (ok, aborted, or of the error table).',
  ['method', 'code'],
)
const in_flight = level(
  'multihub_gateway_requests_in_flight',
  'Public requests that this process is serving.',
).of({})

/**
 * The first span of the trace of each request. A `traceparent` of the caller is ignored, so no caller decides what is
 * recorded.
 */
export const REQUEST_SPAN: SpanDescription = { name: 'request', kind: 'server', begins_trace: true }

/**
 * Begins to observe a request. The returned function ends that when the response was sent: it measures the request, and
 * describes it in its span.
 */
export function beginObservation(exchange: Exchange, span: Span | undefined): () => void {
  in_flight.value += 1
  return () => {
    in_flight.value -= 1
    const { request_id, response, context } = exchange
    const { method, code, application_id, merchant_id, environment } = context
    const result = code ?? (response.writableEnded ? 'ok' : 'aborted')
    seconds.observe({ method: method ?? 'none', code: String(result) }, elapsedMs(exchange) / 1_000)
    if (method !== undefined) span?.rename(method)
    const { statusCode: http_status } = response
    const fields = { request_id, code, application_id, merchant_id, environment, http_status }
    if (span === undefined) recordFailedPayment(exchange, fields)
    else span.add(fields)
  }
}

/** Records the span of a request that was not sampled, when its payment has failed or it has met a fault. */
function recordFailedPayment(exchange: Exchange, fields: SpanFields): void {
  const { request_id, context } = exchange
  const { method: name = '', code, payment } = context
  const is_fault = code === 2001 || code === 2002
  if (!createsPayment(name) || !(is_fault || payment?.has_failed)) return
  const { payment_id } = payment ?? {}
  const ended_at = now()
  recordPastSpan({
    name,
    kind: 'server',
    fields: { ...fields, payment_id },
    first: failureTraceOf(payment_id ?? request_id),
    is_first: payment_id === undefined,
    began_at: new Date(ended_at.getTime() - elapsedMs(exchange)),
    ended_at,
  })
}
