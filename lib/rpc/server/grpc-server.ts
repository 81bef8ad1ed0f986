import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { ConnectError } from '@connectrpc/connect'
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerOptions,
  type ServiceDefinition,
} from '@grpc/grpc-js'
import { Health } from '#gen/grpc/health/v1/health_pb.ts'
import { type ConnectionLimit, createConnectionLimit, internalLimits } from '#lib/http/connection-limit.ts'
import { listen } from '#lib/http/network.ts'
import { reloadSecureContext, type Tls, tlsServerOptions } from '#lib/http/tls.ts'
import { log } from '#lib/telemetry/log.ts'
import { type AuthenticateCaller, authorizationOf } from '../credentials.ts'
import { toGrpcStatus } from '../errors.ts'
import { CALL_TIMEOUT_MAX_MS, CONNECTIONS_MAX, MESSAGE_MAX_BYTES, STREAMS_MAX } from '../settings.ts'
import type { RpcEndpoint } from './dispatch.ts'
import { grpcCallHead, grpcIncoming } from './grpc-incoming.ts'
import { addHealthAndReflection } from './health-and-reflection.ts'

const HEALTH_PATH = `/${Health.typeName}/`
/** The largest request for health. It holds the name of one service. */
const HEALTH_REQUEST_MAX_BYTES = 1024

/**
 * The most requests for health that are open in a process. Callers without a token can leave them open, half-sent or as
 * a watch, and each takes 10 kB. Beyond it the oldest is ended, so that a probe is always answered.
 */
const HEALTH_STREAMS_MAX = 1_000

/**
 * Looks at each HTTP/2 stream before grpc-js does. Several Authorization headers become a header that no token matches, as
 * on the Connect port. Refused calls are closed. Every caller may ask for health, so a health request that is too long ends its
 * stream (grpc-js would hold up to 4 MiB of it), and few of them are open at a time. Throws when grpc-js has no HTTP/2 server
 * where this release expects it.
 */
function guardStreams(server: Server): void {
  // grpc-js passes on neither the raw headers nor the parts of a message, and has no public access to its HTTP/2 servers.
  const http2_servers: unknown = Reflect.get(server, 'http2Servers')
  if (!(http2_servers instanceof Map) || http2_servers.size === 0)
    throw new TypeError('grpc-js has no HTTP/2 server to guard')
  /** In the order in which they were opened. */
  const health_streams = new Set<ServerHttp2Stream>()

  function guardStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    raw_headers: readonly string[],
  ): void {
    const authorization = authorizationOf(raw_headers)
    if (authorization !== undefined) headers.authorization = authorization
    stream.once('finish', () => closeRefused(stream))
    if (!headers[':path']?.startsWith(HEALTH_PATH)) return
    endWhenLongerThan(stream, HEALTH_REQUEST_MAX_BYTES)
    health_streams.add(stream)
    stream.once('close', () => health_streams.delete(stream))
    const [oldest] = health_streams
    if (oldest === undefined || health_streams.size <= HEALTH_STREAMS_MAX) return
    health_streams.delete(oldest)
    oldest.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  for (const http2_server of http2_servers.keys()) http2_server.prependListener('stream', guardStream)
}

/**
 * Closes a stream whose whole response was a status, although its request has not ended. grpc-js leaves it open, so a stranger
 * could keep `STREAMS_MAX` refused calls on each connection.
 */
function closeRefused(stream: ServerHttp2Stream): void {
  // The types of Node.js leave out that a stream may end without headers.
  const sent: OutgoingHttpHeaders | undefined = stream.sentHeaders
  if (!stream.readableEnded && sent?.['grpc-status'] !== undefined) stream.close(constants.NGHTTP2_NO_ERROR)
}

/** gRPC clients read the code of the end as "resource exhausted". */
function endWhenLongerThan(stream: ServerHttp2Stream, max_bytes: number): void {
  let received_bytes = 0
  stream.on('data', ({ byteLength }: Buffer) => {
    received_bytes += byteLength
    if (received_bytes > max_bytes) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
}

/** What a port for RPCs needs. */
export interface RpcPortOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly endpoints: readonly RpcEndpoint[]
  readonly tls: Tls | undefined
  /** From its abort on, connections end soon: by a GOAWAY, or with their next response (R5). */
  readonly draining?: AbortSignal | undefined
  /** The most open connections; 5,000 unless given. */
  readonly connections_max?: number
}

interface GrpcServerOptions extends RpcPortOptions {
  readonly authenticate: AuthenticateCaller
}

const SERVER_OPTIONS: ServerOptions = {
  // Switches off statistics that are not used and cost a tenth of a call.
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_send_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_concurrent_streams': STREAMS_MAX,
  // Detects a vanished peer within half a minute.
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_connection_idle_ms': 300_000,
  // Makes clients reconnect from time to time, so that they find new processes. Calls in progress may end.
  'grpc.max_connection_age_ms': 300_000,
  'grpc.max_connection_age_grace_ms': CALL_TIMEOUT_MAX_MS + 10_000,
}

const TIMER_MAX_MS = 2 ** 31 - 1

/** Serves services over gRPC, with health and reflection. Resolves when it listens. */
export async function serveGrpc(options: GrpcServerOptions) {
  const { host, port, endpoints, authenticate, tls, draining } = options
  const services = [...new Set(endpoints.map(({ method }) => method.parent))]
  const connections = createConnectionLimit(
    'grpc',
    internalLimits(options.connections_max ?? CONNECTIONS_MAX),
  )
  const server = new Server({ ...SERVER_OPTIONS, interceptors: [createCallerCheck(endpoints, connections)] })
  addEndpoints(server, endpoints)
  const health = addHealthAndReflection(server, services, authenticate)
  // We listen ourselves. grpc-js prints listen errors on the console, cannot close its connections without its
  // statistics, and reads TLS keys only once.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  guardStreams(server)
  const net_server = createNetServer(tls, (socket) => injector.injectConnection(socket))
  connections.attach(net_server)
  const reportStop = (): void => {
    health.setServing('', false)
    for (const { typeName } of services) health.setServing(typeName, false)
  }
  draining?.addEventListener('abort', () => {
    reportStop()
    // Open connections get a GOAWAY: their calls in progress end, and clients connect again for the next call. New
    // connections are still accepted, and none is destroyed before `close`.
    injector.drain(TIMER_MAX_MS)
  })
  const listening = await listen(net_server, { host, port, variable: 'MULTIHUB_GRPC_PORT' })
  return {
    port: listening.port,
    /** Sets the gRPC health status of a service; the empty name means the whole process. */
    setServing: (service: string, serving: boolean) =>
      health.setServing(service, serving && draining?.aborted !== true),
    /** Accepts no new call, gives calls in progress at most `grace_ms` to end, then closes all connections. */
    async close(grace_ms: number): Promise<void> {
      reportStop()
      health.end()
      server.tryShutdown(() => {})
      await listening.close(grace_ms)
      server.forceShutdown()
    },
  }
}

function createNetServer(tls: Tls | undefined, onConnection: (socket: Socket) => void): NetServer {
  if (tls === undefined) return createServer({ noDelay: true }, onConnection)
  const options = { ...tlsServerOptions(tls), ALPNProtocols: ['h2'], noDelay: true }
  const server = createTlsServer(options, (socket) => {
    socket.on('error', (error) => log.debug({ error, part: 'grpc' }, 'TLS connection failed'))
    onConnection(socket)
  })
  server.on('tlsClientError', (error, socket) => {
    log.debug({ error, part: 'grpc' }, 'TLS handshake failed')
    // After a handshake that takes too long Node.js leaves the connection open.
    socket.destroy()
  })
  reloadSecureContext(server, tls)
  return server
}

/** grpc-js handles bytes only. The dispatcher decodes and encodes messages, and reports malformed ones. */
const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const fromBuffer = (bytes: Buffer): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function addEndpoints(server: Server, endpoints: readonly RpcEndpoint[]): void {
  const definition: Record<string, ServiceDefinition[string]> = {}
  const handlers: Record<string, handleUnaryCall<Uint8Array, Uint8Array>> = {}
  for (const endpoint of endpoints) {
    const { method } = endpoint
    const path = pathOf(method)
    definition[path] = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: toBuffer,
      requestDeserialize: fromBuffer,
      responseSerialize: toBuffer,
      responseDeserialize: fromBuffer,
    }
    handlers[path] = createHandler(endpoint)
  }
  // A process may have no service (the gateway); grpc-js throws for an empty definition.
  if (endpoints.length > 0) server.addService(definition, handlers)
}

function pathOf({ parent, name }: RpcEndpoint['method']): string {
  return `/${parent.typeName}/${name}`
}

/** Refuses unknown callers by the head of a call: a stranger must not make this process hold a message. */
function createCallerCheck(
  endpoints: readonly RpcEndpoint[],
  connections: Pick<ConnectionLimit, 'markAuthenticated'>,
): ServerInterceptor {
  const endpoint_of = new Map(endpoints.map((endpoint) => [pathOf(endpoint.method), endpoint]))
  return ({ path }, call) => {
    const endpoint = endpoint_of.get(path)
    // Health is for all callers, with short requests. The handler of reflection, a stream, checks the caller before it reads.
    if (endpoint === undefined) return new ServerInterceptingCall(call)
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, receive) {
            endpoint.checkCaller(grpcCallHead(metadata, call)).then(
              () => {
                connections.markAuthenticated(call.getPeer())
                receive(metadata)
              },
              (error: unknown) => call.sendStatus(toGrpcStatus(ConnectError.from(error))),
            )
          },
        })
      },
    })
  }
}

function createHandler(endpoint: RpcEndpoint): handleUnaryCall<Uint8Array, Uint8Array> {
  return (call, callback) => {
    endpoint.call(grpcIncoming(call, endpoint)).then(
      ({ bytes }) => callback(null, bytes),
      (error: unknown) => callback(toGrpcStatus(ConnectError.from(error))),
    )
  }
}
