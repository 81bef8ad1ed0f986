import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { fromConnectError } from '../errors/translate-errors.ts'
import { MESSAGE_MAX_BYTES } from '../limits.ts'
import { type OutgoingMetadata, outgoingMetadata } from './outgoing-metadata.ts'

/** One outgoing call: the encoded request and its metadata. */
export interface OutgoingCall extends OutgoingMetadata {
  readonly method: DescMethodUnary
  readonly request: Uint8Array
  readonly headers: Headers | undefined
  readonly signal: AbortSignal | undefined
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
          ...outgoingMetadata(timeoutMs),
          method,
          request: encode(method.input, input),
          headers: header && new Headers(header),
          signal,
        }
        if (signal?.aborted === true)
          throw new ConnectError('the call was cancelled before it was sent', Code.Canceled)
        const message = fromBinary(method.output, await send(call))
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
