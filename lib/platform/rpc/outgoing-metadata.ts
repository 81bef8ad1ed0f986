import { PublicError } from '#lib/contract/errors/public-error.ts'
import { currentRequest } from '#lib/platform/context.ts'
import { childTrace, formatTrace, parseTrace } from '#lib/platform/telemetry/trace.ts'
import { clock } from '#lib/platform/time.ts'
import { CALL_TIMEOUT_MS } from './limits.ts'

/** What every call that a client makes takes with it. */
export interface OutgoingMetadata {
  readonly request_id: string | undefined
  readonly traceparent: string | undefined
  /** Above 0. */
  readonly timeout_ms: number
}

/**
 * The request's id and trace, and how long to wait: what the caller asked for, else 10 s, and never longer than the
 * request being served may still take. Throws 2002 when that time is over, without calling.
 */
export function outgoingMetadata(asked_timeout_ms: number | undefined): OutgoingMetadata {
  const request = currentRequest()
  const left_ms = request?.deadline_ms === undefined ? Infinity : request.deadline_ms - clock.monotonic_ms()
  const timeout_ms = Math.min(asked_timeout_ms ?? CALL_TIMEOUT_MS, left_ms)
  if (timeout_ms <= 0) throw new PublicError(2002, { cause: new Error('no time was left to make the call') })
  const trace = parseTrace(request?.trace)
  return {
    request_id: request?.request_id,
    traceparent: trace === undefined ? undefined : formatTrace(childTrace(trace)),
    timeout_ms,
  }
}
