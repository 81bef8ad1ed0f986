import { histogram, level } from '#lib/telemetry/metrics.ts'
import type { Span, SpanDescription } from '#lib/telemetry/span.ts'
import { type Exchange, elapsedMs } from './exchange.ts'

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
    const { method = 'none', code } = exchange.context
    const result = code === undefined ? outcomeOf(exchange) : String(code)
    seconds.observe({ method, code: result }, elapsedMs(exchange) / 1_000)
    if (span !== undefined) describeExchange(span, exchange)
  }
}

/** What a response without a code of the error table came to. */
function outcomeOf({ response }: Exchange): 'ok' | 'aborted' {
  return response.writableEnded ? 'ok' : 'aborted'
}

function describeExchange(span: Span, { request_id, response, context }: Exchange): void {
  const { method, code, application_id, merchant_id, environment } = context
  const { statusCode: http_status } = response
  if (method !== undefined) span.rename(method)
  span.add({ request_id, code, application_id, merchant_id, environment, http_status })
}
