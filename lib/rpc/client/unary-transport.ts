import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { currentAct, currentRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { formatTrace } from '#lib/base/trace.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { waitOutside } from '#lib/telemetry/call-slots.ts'
import { fromConnectError } from '../errors.ts'
import { AUDIT_HEADER, CALL_TIMEOUT_MS, MESSAGE_MAX_BYTES } from '../settings.ts'

/** One outgoing call: the encoded request and its metadata. */
export interface OutgoingCall {
  readonly method: DescMethodUnary
  readonly request: Uint8Array
  /** By lower-case names: the given headers, the id of the present request, and its place in its trace. */
  readonly headers: ReadonlyMap<string, string>
  readonly signal: AbortSignal | undefined
  /** Always above 0. */
  readonly timeout_ms: number
}

/**
 * The metadata of a call in the present request. Its time-out is the given one or 10 s, but never more than the remaining
 * time of the request. Throws 2002 when no time remains.
 */
function outgoingMetadata(
  asked_timeout_ms: number | undefined,
  given: ConstructorParameters<typeof Headers>[0],
) {
  const request = currentRequest()
  const left_ms = request?.deadline_ms === undefined ? Infinity : request.deadline_ms - clock.monotonic_ms()
  const timeout_ms = Math.min(asked_timeout_ms ?? CALL_TIMEOUT_MS, left_ms)
  if (timeout_ms <= 0)
    throw new PublicError(2002, { cause: new Error('the deadline passed before the call') })
  const headers = new Map(new Headers(given))
  if (request?.request_id !== undefined) headers.set('x-request-id', request.request_id)
  if (request?.trace !== undefined) headers.set('traceparent', formatTrace(request.trace))
  // What another role changes for an act belongs to it too. The back office names the act of each call itself.
  const audit_id = currentAct()
  if (audit_id !== undefined && !headers.has(AUDIT_HEADER)) headers.set(AUDIT_HEADER, audit_id)
  return { headers, timeout_ms }
}

/**
 * Creates a Connect transport for unary RPCs from a function that carries bytes. Messages are encoded even within one
 * process, so that neither side can change the other's objects and calls behave the same in memory and over the network.
 * Every failure becomes a `PublicError` for the caller.
 */
export function createUnaryTransport(send: (call: OutgoingCall) => Promise<Uint8Array>): Transport {
  return {
    async unary(method, signal, timeoutMs, header, input) {
      try {
        const call = {
          ...outgoingMetadata(timeoutMs, header),
          method,
          request: encode(method.input, input),
          signal,
        }
        if (signal?.aborted === true)
          throw new ConnectError('the call was cancelled before it was sent', Code.Canceled)
        const message = fromBinary(method.output, await waitOutside(() => send(call)))
        return {
          stream: false,
          service: method.parent,
          method,
          message,
          get header() {
            return new Headers()
          },
          get trailer() {
            return new Headers()
          },
        }
      } catch (error) {
        throw fromConnectError(error)
      }
    },
    stream(method) {
      throw new TypeError(
        `${method.parent.typeName}/${method.name} is a stream: only unary RPCs are supported`,
      )
    },
  }
}

function encode<I extends DescMessage>(schema: I, input: MessageInitShape<I>): Uint8Array {
  const bytes = toBinary(schema, create(schema, input))
  if (bytes.length > MESSAGE_MAX_BYTES)
    throw new ConnectError(`a request of ${bytes.length} bytes is too large`, Code.ResourceExhausted)
  return bytes
}
