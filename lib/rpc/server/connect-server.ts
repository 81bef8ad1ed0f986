import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { CONNECTIONS_CHECK_MS, createConnectionLimit, internalLimits } from '#lib/http/connection-limit.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { reloadSecureContext, type Tls, tlsServerOptions } from '#lib/http/tls.ts'
import { CALL_TIMEOUT_MAX_MS, CONNECTIONS_MAX } from '../settings.ts'
import { createConnectListener, type HttpListener } from './connect-listener.ts'
import type { RpcPortOptions } from './grpc-server.ts'

const HTTP_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
}

/** Serves services by Connect and gRPC-Web over HTTP/1.1, so that curl and browsers reach them. */
export async function serveConnect(options: RpcPortOptions): Promise<Listening> {
  const connections = createConnectionLimit(
    'connect',
    internalLimits(options.connections_max ?? CONNECTIONS_MAX),
  )
  const server = createConnectHttpServer(options.tls, createConnectListener(options.endpoints, connections))
  connections.attach(server)
  const { host, port, draining } = options
  return listen(server, { host, port, variable: 'MULTIHUB_CONNECT_PORT', draining })
}

/** Makes the HTTP/1.1 server of a port for calls, with its time limits, and with TLS where the process has it. */
export function createConnectHttpServer(tls: Tls | undefined, listener: HttpListener): Server {
  const server = tls === undefined ? createHttpServer(HTTP_OPTIONS, listener) : createTlsServer(tls, listener)
  server.timeout = CALL_TIMEOUT_MAX_MS + 10_000
  return server
}

function createTlsServer(tls: Tls, listener: HttpListener): Server {
  // A certificate is requested and checked, but a caller such as a browser may use a token instead of one.
  const options = { ...HTTP_OPTIONS, ...tlsServerOptions(tls), rejectUnauthorized: false }
  const server = createHttpsServer(options, listener)
  reloadSecureContext(server, tls)
  return server
}
