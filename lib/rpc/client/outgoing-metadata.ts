import { currentRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { formatTrace } from '#lib/base/trace.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { CALL_TIMEOUT_MS } from '../limits.ts'

/** The metadata of every outgoing call. */
export interface OutgoingMetadata {
  readonly request_id: string | undefined
  readonly traceparent: string | undefined
  /** Always above 0. */
  readonly timeout_ms: number
}

/**
 * The id of the present request, its place in its trace, and the time-out of the call: the given one or 10 s, but never
 * more than the remaining time of the present request. Throws 2002 when no time remains.
 */
export function outgoingMetadata(asked_timeout_ms: number | undefined): OutgoingMetadata {
  const request = currentRequest()
  const left_ms = request?.deadline_ms === undefined ? Infinity : request.deadline_ms - clock.monotonic_ms()
  const timeout_ms = Math.min(asked_timeout_ms ?? CALL_TIMEOUT_MS, left_ms)
  if (timeout_ms <= 0)
    throw new PublicError(2002, { cause: new Error('the deadline passed before the call') })
  return {
    request_id: request?.request_id,
    traceparent: request?.trace && formatTrace(request.trace),
    timeout_ms,
  }
}
