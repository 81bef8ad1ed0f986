import type { Message } from '@bufbuild/protobuf'
import type { RequestContext } from '#lib/platform/context.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { parseTrace } from '#lib/platform/telemetry/trace.ts'
import type { CallCredentials } from './authenticate.ts'
import { CALL_TIMEOUT_MAX_MS } from './limits.ts'
import type { CallerName } from './service.ts'

/** One call as it came in, whichever way it came. */
export interface IncomingCall {
  /** The way, as `HandlerContext.protocolName` shows it. */
  readonly protocol: string
  /** Who calls, or what is there to prove it. Within one process the process itself says who. */
  readonly caller: CallerName | CallCredentials
  /** One request header or entry of the metadata. */
  header(name: string): string | undefined
  headers(): Headers
  /** How long the caller will wait from now on, if it said. */
  readonly timeout_ms: number | undefined
  /** Calls back when the caller has gone. */
  onCancelled(listener: () => void): void
  /** The request; throws when what came is not a message of this method. */
  request(): Message
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

/**
 * What a call carries on to whatever it causes. An id or a trace that is not well-formed is replaced, never
 * refused: no request should fail over how it is to be logged.
 */
export function requestContextOf(
  call: IncomingCall,
  caller: CallerName | undefined,
  started_ms: number,
): RequestContext & { readonly deadline_ms: number } {
  const request_id = call.header('x-request-id')
  const trace = call.header('traceparent')
  return {
    request_id: request_id !== undefined && REQUEST_ID.test(request_id) ? request_id : uuidv7(),
    deadline_ms: started_ms + Math.min(call.timeout_ms ?? CALL_TIMEOUT_MAX_MS, CALL_TIMEOUT_MAX_MS),
    ...(trace !== undefined && parseTrace(trace) !== undefined ? { trace } : {}),
    ...(caller === undefined ? {} : { caller }),
  }
}
