import { type DescMethod, fromBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import type { Endpoint } from './dispatch.ts'
import type { CallerName } from './service.ts'
import { createUnaryTransport, type OutgoingCall } from './unary-transport.ts'

/**
 * Calls endpoints of this very process. The caller's name is the process's own word, so it needs no token; everything
 * else (permissions, deadline, errors, messages as bytes) is as it would be over the wire.
 */
export function createMemoryTransport(
  caller: CallerName,
  find: (method: DescMethod) => Endpoint | undefined,
): Transport {
  return createUnaryTransport(async (call) => {
    const endpoint = find(call.method)
    if (endpoint === undefined) {
      const rpc = `${call.method.parent.typeName}/${call.method.name}`
      throw new ConnectError(`${rpc} is not served in this process`, Code.Unimplemented)
    }
    const { bytes } = await withAbort(call.signal, (onCancelled) =>
      endpoint.call({
        protocol: 'memory',
        caller,
        header: (name) => headerOf(call, name),
        headers: () => headersOf(call),
        timeout_ms: call.timeout_ms,
        onCancelled,
        request: () => fromBinary(call.method.input, call.request),
      }),
    )
    return bytes
  })
}

function headerOf(call: OutgoingCall, name: string): string | undefined {
  if (name === 'x-request-id') return call.request_id
  if (name === 'traceparent') return call.traceparent
  return call.headers?.get(name) ?? undefined
}

function headersOf(call: OutgoingCall): Headers {
  const headers = new Headers(call.headers)
  if (call.request_id !== undefined) headers.set('x-request-id', call.request_id)
  if (call.traceparent !== undefined) headers.set('traceparent', call.traceparent)
  return headers
}

/** Lets go of the signal when the work has ended: one that lives as long as the process would gather listeners. */
async function withAbort<T>(
  signal: AbortSignal | undefined,
  work: (onAbort: (listener: () => void) => void) => Promise<T>,
): Promise<T> {
  if (signal === undefined) return work(() => {})
  const ended = new AbortController()
  try {
    return await work((listener) =>
      signal.addEventListener('abort', listener, { once: true, signal: ended.signal }),
    )
  } finally {
    ended.abort()
  }
}
