import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import type { CallCredentials } from '../credentials/authenticate.ts'
import { authorizationOf } from '../credentials/authorization-header.ts'
import type { CallHead } from './incoming.ts'

/** The credentials of an HTTP request. Connect's own headers and context do not contain them completely. */
const call_credentials_key = createContextKey<CallCredentials>({
  authorization: undefined,
  certificate: () => undefined,
})

/** The context values that an HTTP request passes to its RPC. */
export function contextValuesOf({ socket, rawHeaders }: IncomingMessage): ContextValues {
  return createContextValues().set(call_credentials_key, {
    authorization: authorizationOf(rawHeaders),
    certificate: () =>
      socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate() : undefined,
  })
}

/** The head of a call by the Connect or gRPC-Web protocol, in the form that the dispatcher takes. */
export function connectCallHead(context: HandlerContext): CallHead {
  const { requestHeader, signal } = context
  const header = (name: string): string | undefined => requestHeader.get(name) ?? undefined
  return {
    protocol: context.protocolName,
    caller: context.values.get(call_credentials_key),
    header,
    headers: () => requestHeader,
    timeout_ms: context.timeoutMs(),
    onCancelled(listener) {
      const stopped = (): void => {
        // Connect also aborts at the deadline. The dispatcher reports that itself, as DeadlineExceeded, not as Canceled.
        if (!(signal.reason instanceof ConnectError && signal.reason.code === Code.DeadlineExceeded))
          listener()
      }
      if (signal.aborted) stopped()
      else signal.addEventListener('abort', stopped, { once: true })
    },
  }
}
