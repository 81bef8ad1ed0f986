import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Message } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import type { CallCredentials } from './authenticate.ts'
import type { IncomingCall } from './incoming.ts'

/** What an HTTP request brings to prove its caller, which Connect's own headers and context do not tell in full. */
const callCredentialsKey = createContextKey<CallCredentials>({
  authorization: undefined,
  certificate: () => undefined,
})

/** What an HTTP request hands to the call that it carries. */
export function contextValuesOf({ socket, rawHeaders }: IncomingMessage): ContextValues {
  return createContextValues().set(callCredentialsKey, {
    authorization: authorizationOf(rawHeaders),
    certificate: () =>
      socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate() : undefined,
  })
}

/** A call by the Connect or gRPC-Web protocol as the dispatcher takes it. */
export function connectIncoming(request: Message, context: HandlerContext): IncomingCall {
  const { requestHeader, signal } = context
  const header = (name: string): string | undefined => requestHeader.get(name) ?? undefined
  return {
    protocol: context.protocolName,
    caller: context.values.get(callCredentialsKey),
    header,
    headers: () => requestHeader,
    timeout_ms: context.timeoutMs(),
    onCancelled(listener) {
      const stopped = (): void => {
        // Connect aborts at the deadline too, but that is ours to tell: not in time is not the same as gone.
        if (!(signal.reason instanceof ConnectError && signal.reason.code === Code.DeadlineExceeded))
          listener()
      }
      if (signal.aborted) stopped()
      else signal.addEventListener('abort', stopped, { once: true })
    },
    request: () => request,
  }
}

/**
 * The Authorization of a request from its header lines as they came. Several are joined, which is the form of no proof:
 * Node shows only the first, and what stands between us and the caller may have judged another.
 */
function authorizationOf(lines: readonly string[]): string | undefined {
  let joined: string | undefined
  for (let index = 0; index + 1 < lines.length; index += 2) {
    if (lines[index]?.toLowerCase() !== 'authorization') continue
    const value = lines[index + 1] ?? ''
    joined = joined === undefined ? value : `${joined}, ${value}`
  }
  return joined
}
