import type { IncomingMessage, ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { DescMethod, Message } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node'
import { type ConnectionLimit, peerOf } from '#lib/http/connection-limit.ts'
import { plain, sendText, type TextResponse } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import { authorizationOf, type CallCredentials } from '../credentials.ts'
import { MESSAGE_MAX_BYTES } from '../settings.ts'
import { type RpcEndpoint, stream_key } from './dispatch.ts'
import type { CallHead } from './incoming.ts'

/** The credentials of an HTTP request. Connect's own headers and context do not contain them completely. */
const call_credentials_key = createContextKey<CallCredentials>({
  authorization: undefined,
  certificate: () => undefined,
})

/** The connection of an HTTP request, see `peerOf`. */
export const peer_key = createContextKey('')

/** Who shares the limit of connections of one caller; the check of a call sets it where callers are told apart. */
export const connection_caller_key = createContextKey<string | undefined>(undefined)

/** The context values that an HTTP request passes to its RPC. */
function contextValuesOf({ socket, rawHeaders }: IncomingMessage): ContextValues {
  return createContextValues()
    .set(peer_key, peerOf(socket))
    .set(call_credentials_key, {
      authorization: authorizationOf(rawHeaders),
      certificate: () =>
        socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate() : undefined,
    })
}

/** The head of a call by the Connect or gRPC-Web protocol, in the form that the dispatcher takes. */
function connectCallHead(context: HandlerContext): CallHead {
  const { requestHeader, signal } = context
  const header = (name: string): string | undefined => requestHeader.get(name) ?? undefined
  return {
    protocol: context.protocolName,
    caller: context.values.get(call_credentials_key),
    header,
    headers: () => requestHeader,
    timeout_ms: context.timeoutMs(),
    values: context.values,
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

/** Answers one HTTP request. */
export type HttpListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Answers the calls of endpoints by Connect and gRPC-Web over HTTP/1.1. A caller is checked before its message is read, and its
 * connection is then marked as authenticated. What is not a call of an endpoint is answered with 404. A longer message than
 * `request_max_bytes` is refused with RESOURCE_EXHAUSTED.
 */
export function createConnectListener(
  endpoints: readonly RpcEndpoint[],
  connections: Pick<ConnectionLimit, 'markAuthenticated'>,
  request_max_bytes = MESSAGE_MAX_BYTES,
): HttpListener {
  const endpoint_of = new Map<DescMethod, RpcEndpoint>(endpoints.map((one) => [one.method, one]))
  // The router accepts no compression by default, so that a small body cannot expand.
  const router = createConnectRouter({
    grpc: false,
    readMaxBytes: request_max_bytes,
    writeMaxBytes: MESSAGE_MAX_BYTES,
    // A misspelt field must not be treated like an absent one.
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true },
    // A stranger must not make this process hold and parse a body.
    async requestGate(context) {
      await endpoint_of.get(context.method)?.checkCaller(connectCallHead(context))
      connections.markAuthenticated(context.values.get(peer_key), context.values.get(connection_caller_key))
    },
  })
  for (const { method, call } of endpoints) {
    const answer = async (request: Message, context: HandlerContext): Promise<Message> => {
      const { message } = await call({ ...connectCallHead(context), request: () => request })
      return message
    }
    if (method.methodKind === 'unary') router.rpc(method, answer)
    else
      router.rpc(method, async function* (request, context) {
        const first = await answer(request, context)
        const others = context.values.get(stream_key)?.(context.signal) ?? []
        yield first
        yield* others
      })
  }
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?', 1)[0] ?? ''
    const handler = handlers.get(path)
    if (handler === undefined)
      return sendText(
        response,
        request.method === 'POST' && RPC_PATH.test(path) ? NO_SUCH_RPC : plain(404, 'Not Found'),
      )
    // The handler of a refused request can go on to wait for its rest after the response.
    response.once('finish', () => dropRest(request))
    const universal_request = universalRequestFromNodeRequest(
      request,
      response,
      undefined,
      contextValuesOf(request),
    )
    await universalResponseToNodeResponse(await handler(universal_request), response)
  }
  return (request, response) => {
    serve(request, response).catch((error: unknown) => {
      const gone = response.destroyed
      log[gone ? 'debug' : 'warn']({ error, part: 'connect' }, 'HTTP request failed')
      if (!response.headersSent) sendText(response, plain(400, 'Bad Request'))
      else response.destroy()
    })
  }
}

/** Drops what a refusal has left unread of a request: it would hold back the next one on the connection, maybe of another caller. */
function dropRest(request: IncomingMessage): void {
  // While somebody waits for 'readable', nothing flows.
  if (!request.complete) request.removeAllListeners('readable').resume()
}

const RPC_PATH = /^\/(?:\w+\.)+\w+\/\w+$/

/** One response for an unknown service and an unknown method. Connect clients read its code. */
const NO_SUCH_RPC: TextResponse = {
  status: 404,
  content_type: 'application/json',
  body: JSON.stringify({ code: 'unimplemented', message: 'unknown RPC' }),
}
