import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import { clock } from '#lib/base/time.ts'
import { type ConnectionLimits, createConnectionLimit } from '#lib/http/connection-limit.ts'
import { plain, sendText } from '#lib/http/network.ts'
import type { Tls } from '#lib/http/tls.ts'
import { createConnectListener } from '#lib/rpc/server/connect-listener.ts'
import { createConnectHttpServer } from '#lib/rpc/server/connect-server.ts'
import type { RpcEndpoint } from '#lib/rpc/server/dispatch.ts'
import type { CallerAddresses } from './caller-address.ts'
import { createPathHandler, type HttpPath } from './http-paths.ts'

/** What the HTTP server of the back office needs. */
interface HttpServerOptions {
  readonly endpoints: readonly RpcEndpoint[]
  readonly paths: readonly HttpPath[]
  readonly tls: Tls | undefined
  /** The version of the product, which every answer names (O19). */
  readonly release: string
  readonly addresses: CallerAddresses
}

/** The limits of a port that people and programs outside reach, also through one proxy for all of them. */
const CONNECTION_LIMITS: ConnectionLimits = {
  connections_max: 2_000,
  network_connections_max: 2_000,
  unauthenticated_connections_max: 500,
  network_unauthenticated_connections_max: 250,
  unauthenticated_grace_ms: 1_000,
  first_bytes_ms: 5_000,
  // A merchant with all its principals, or one principal of the operator.
  caller_connections_max: 200,
}

/**
 * The longest request. Twice what a comment of 5,000 characters has in JSON, so that requests on every connection of a merchant's
 * principal occupy 256 MiB at most.
 */
const REQUEST_MAX_BYTES = 128 * 1024

/** Makes the HTTP server of the back office as a Fastify application that is not listening yet. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { endpoints, paths, addresses } = options
  const connections = createConnectionLimit('backoffice', CONNECTION_LIMITS, addresses.trusted_proxies)
  const answerCall = createConnectListener(endpoints, connections, REQUEST_MAX_BYTES)
  const app = Fastify({
    serverFactory: (handle) => createServer(options, handle),
    requestIdHeader: false,
    genReqId: () => '',
    return503OnClosing: false,
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack()
      sendText(reply.raw, plain(400, 'Bad Request'))
    },
  })
  // The handlers read the bodies: they stop at their limits, and only after the caller was checked.
  app.removeAllContentTypeParsers()
  for (const method of ['POST', 'PUT', 'DELETE'])
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  const handler: RouteHandlerMethod = ({ raw }, reply) => {
    reply.hijack()
    answerCall(raw, reply.raw)
  }
  app.post('/:service/:rpc', handler)
  for (const one of paths)
    app.route({
      method: one.method,
      url: one.path,
      handler: createPathHandler(one, connections, addresses.addressOf),
    })
  app.setNotFoundHandler((_request, reply) => {
    reply.hijack()
    sendText(reply.raw, plain(404, 'Not Found'))
  })
  connections.attach(app.server)
  return app
}

/** Node's server, each of whose answers names the release. */
function createServer(
  { tls, release, addresses }: HttpServerOptions,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createConnectHttpServer(tls, (request, response) => {
    response.setHeader('multihub-release', release)
    addresses.watch.observe(request)
    if (request.method !== 'PUT') limitBodyTime(request)
    handle(request, response)
  })
  server.requestTimeout = FILE_MAX_MS
  return server
}

/** The time for a file to arrive, and for the body of any other request. */
const FILE_MAX_MS = 300_000
const BODY_MAX_MS = 30_000

function limitBodyTime(request: IncomingMessage): void {
  if (request.complete) return
  const timeout = clock.after(BODY_MAX_MS, () => request.destroy())
  const cancel = (): void => timeout.cancel()
  request.once('end', cancel).once('close', cancel)
}
