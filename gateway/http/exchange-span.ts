import { inSpan, type SpanDescription } from '#lib/platform/telemetry/span.ts'
import type { Exchange } from './exchange.ts'

/** A `traceparent` of the caller is ignored, so no caller decides what is recorded. */
const REQUEST_SPAN: SpanDescription = { name: 'request', kind: 'server', begins_trace: true }

/** Serves a request as the first span of a new trace, which is named by the public method. */
export function inExchangeSpan(
  { request_id, response, context }: Exchange,
  serve: () => Promise<void>,
): Promise<void> {
  return inSpan(REQUEST_SPAN, async (span) => {
    await serve()
    if (span === undefined) return
    const { method, code, application_id, merchant_id, environment } = context
    const { statusCode: http_status } = response
    if (method !== undefined) span.rename(method)
    span.add({ request_id, code, application_id, merchant_id, environment, http_status })
  })
}
