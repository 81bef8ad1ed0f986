import { type DescMethod, fromBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import type { RpcEndpoint } from '../server/dispatch.ts'
import type { CallerName } from '../service.ts'
import { createUnaryTransport } from './unary-transport.ts'

/**
 * Creates a transport to the endpoints of this process. The process names the caller itself, so no token is needed.
 * Everything else (permissions, deadlines, errors, messages as bytes) is the same as over the network.
 */
export function createMemoryTransport(
  caller: CallerName,
  find: (method: DescMethod) => RpcEndpoint | undefined,
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
        header: (name) => call.headers.get(name),
        headers: () => new Headers([...call.headers]),
        timeout_ms: call.timeout_ms,
        onCancelled,
        request: () => fromBinary(call.method.input, call.request),
      }),
    )
    return bytes
  })
}

/** Removes the abort listener when the work has ended, because a long-lived signal would collect listeners. */
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
