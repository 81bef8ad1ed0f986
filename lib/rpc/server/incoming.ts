import type { Message } from '@bufbuild/protobuf'
import type { RequestContext } from '#lib/base/context.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { parseTrace } from '#lib/base/trace.ts'
import type { CallCredentials } from '../credentials/authenticate.ts'
import { CALL_TIMEOUT_MAX_MS } from '../limits.ts'
import type { CallerName } from '../service.ts'

/** What is known of an incoming call before its message is read. */
export interface CallHead {
  /** The transport, as `HandlerContext.protocolName` shows it. */
  readonly protocol: string
  /** The caller's name for calls within this process, otherwise the credentials of the call. */
  readonly caller: CallerName | CallCredentials
  /** One request header or metadata entry. */
  header(name: string): string | undefined
  headers(): Headers
  /** How long the caller waits from now on; `undefined` if it set no deadline. */
  readonly timeout_ms: number | undefined
  /** Calls back when the caller has gone. */
  onCancelled(listener: () => void): void
}

/** An incoming call of any transport. */
export interface IncomingCall extends CallHead {
  /** Decodes the request. Throws when the bytes are not a message of this method. */
  request(): Message
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

/** The request context of an incoming call. */
export type CallRequestContext = RequestContext & {
  readonly request_id: string
  readonly deadline_ms: number
}

/**
 * The request context of a call: request id, trace, deadline and caller. A malformed id is replaced and a malformed trace
 * dropped, because no call should fail for a logging detail. So is the trace of an unknown caller, who could otherwise have
 * any request recorded.
 */
export function requestContextOf(
  call: CallHead,
  caller: CallerName | undefined,
  started_ms: number,
): CallRequestContext {
  const request_id = call.header('x-request-id')
  const trace = caller === undefined ? undefined : parseTrace(call.header('traceparent'))
  return {
    request_id: request_id !== undefined && REQUEST_ID.test(request_id) ? request_id : uuidv7(),
    deadline_ms: started_ms + Math.min(call.timeout_ms ?? CALL_TIMEOUT_MAX_MS, CALL_TIMEOUT_MAX_MS),
    ...(trace === undefined ? {} : { trace }),
    ...(caller === undefined ? {} : { caller }),
  }
}
