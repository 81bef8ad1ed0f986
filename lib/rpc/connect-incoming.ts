import type { IncomingMessage } from 'node:http'
import { type PeerCertificate, TLSSocket } from 'node:tls'
import type { Message } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import type { IncomingCall } from './incoming.ts'

/** How the client's certificate of a connection is looked up: only when a call brings no token. */
const certificateKey = createContextKey<() => PeerCertificate | undefined>(() => undefined)

/** What an HTTP request hands to the call that it carries. */
export function valuesOf({ socket }: Pick<IncomingMessage, 'socket'>): ContextValues {
  return createContextValues().set(certificateKey, () =>
    socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate() : undefined,
  )
}

/** A call by the Connect or gRPC-Web protocol as the dispatcher takes it. */
export function connectIncoming(request: Message, context: HandlerContext): IncomingCall {
  const { requestHeader, signal } = context
  const header = (name: string): string | undefined => requestHeader.get(name) ?? undefined
  return {
    protocol: context.protocolName,
    caller: { authorization: header('authorization'), certificate: context.values.get(certificateKey) },
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
