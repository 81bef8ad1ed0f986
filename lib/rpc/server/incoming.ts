import type { Message } from '@bufbuild/protobuf'
import { type ContextValues, createContextValues, type HandlerContext } from '@connectrpc/connect'
import type { RequestContext } from '#lib/base/context.ts'
import { isUuid, uuidv7 } from '#lib/base/ids.ts'
import { clock } from '#lib/base/time.ts'
import { parseTrace } from '#lib/base/trace.ts'
import type { CallCredentials } from '../credentials.ts'
import { CALLERS, type CallerName, type ServedMethod } from '../service.ts'
import { AUDIT_HEADER, CALL_TIMEOUT_MAX_MS } from '../settings.ts'

/** What is known of an incoming call before its message is read. */
export interface CallHead {
  /** The transport, as `HandlerContext.protocolName` shows it. */
  readonly protocol: string
  /** The caller's name for calls within this process, otherwise the credentials of the call. */
  readonly caller: CallerName | CallCredentials
  /** One request header or metadata entry. */
  header(name: string): string | undefined
  headers(): Headers
  /** What the transport, or an earlier step of the same call, knows of it. */
  readonly values?: ContextValues
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

const isRole = (caller: string | undefined): boolean =>
  caller !== 'internal' && CALLERS.some((name) => name === caller)

/** The request context of an incoming call. */
export type CallRequestContext = RequestContext & {
  readonly request_id: string
  readonly deadline_ms: number
}

/**
 * The request context of a call: request id, trace, deadline and caller. A malformed id is replaced and a malformed trace
 * dropped, because no call should fail for a logging detail. So is the trace of an unknown caller, who could otherwise have
 * any request recorded. Only roles name an act of the audit trail: the back office, and the ones that it calls.
 */
export function requestContextOf(
  call: CallHead,
  caller: string | undefined,
  started_ms: number,
): CallRequestContext {
  const request_id = call.header('x-request-id')
  const trace = caller === undefined ? undefined : parseTrace(call.header('traceparent'))
  const audit_id = isRole(caller) ? call.header(AUDIT_HEADER) : undefined
  return {
    request_id: request_id !== undefined && REQUEST_ID.test(request_id) ? request_id : uuidv7(),
    deadline_ms: started_ms + Math.min(call.timeout_ms ?? CALL_TIMEOUT_MAX_MS, CALL_TIMEOUT_MAX_MS),
    ...(trace === undefined ? {} : { trace }),
    ...(caller === undefined ? {} : { caller }),
    ...(audit_id !== undefined && isUuid(audit_id) ? { act: { audit_id, is_over: false } } : {}),
  }
}

/**
 * The context of one call. Connect's own creates two abort controllers and three header sets per call, which few handlers
 * use; this one creates each part at its first use. It is a class because an object literal with getters costs more than
 * all the rest. Unlike Connect's, its signal does not abort after the response, so background work may continue.
 */
export class CallContext implements HandlerContext {
  readonly method: ServedMethod
  readonly protocolName: string
  readonly requestMethod = 'POST'
  readonly #deadline_ms: number
  readonly #headers: () => Headers
  #controller: AbortController | undefined
  #aborted: Error | undefined
  #requestHeader: Headers | undefined
  #values: ContextValues | undefined

  constructor(
    method: ServedMethod,
    { protocol, headers, values }: Pick<CallHead, 'protocol' | 'headers' | 'values'>,
    deadline_ms: number,
  ) {
    this.method = method
    this.protocolName = protocol
    this.#deadline_ms = deadline_ms
    this.#headers = headers
    this.#values = values
  }

  /** Aborts the handler's signal: its caller has gone, or the deadline has passed. */
  abort(reason: Error): void {
    this.#aborted ??= reason
    this.#controller?.abort(reason)
  }

  timeoutMs = (): number => Math.max(0, this.#deadline_ms - clock.monotonic_ms())

  get service(): ServedMethod['parent'] {
    return this.method.parent
  }

  get url(): string {
    return `/${this.method.parent.typeName}/${this.method.name}`
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= this.#headers()
    return this.#requestHeader
  }

  /** Throws, because not every transport carries response headers. */
  get responseHeader(): Headers {
    throw new Error('a response carries its message only')
  }

  /** Throws, as `responseHeader` does. */
  get responseTrailer(): Headers {
    throw new Error('a response carries its message only')
  }

  get values(): ContextValues {
    this.#values ??= createContextValues()
    return this.#values
  }
}
