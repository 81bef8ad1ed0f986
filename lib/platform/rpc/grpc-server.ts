import { createServer, type Server as Door, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { ConnectError } from '@connectrpc/connect'
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServiceDefinition,
} from '@grpc/grpc-js'
import { listen } from '#lib/platform/process/listen.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import type { AuthenticateCaller } from './authenticate.ts'
import type { Endpoint } from './dispatch.ts'
import { grpcIncoming } from './grpc-incoming.ts'
import { toGrpcStatus } from './grpc-status.ts'
import { addHealthAndReflection } from './health-and-reflection.ts'
import { CALL_TIMEOUT_MAX_MS, CONNECTIONS_MAX, MESSAGE_MAX_BYTES, STREAMS_MAX } from './limits.ts'
import type { Tls } from './tls.ts'
import { reloadSecureContext, tlsServerOptions } from './tls.ts'

/** Where and how to serve gRPC. */
export interface GrpcServerOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly endpoints: readonly Endpoint[]
  readonly authenticate: AuthenticateCaller
  readonly tls: Tls | undefined
}

/** A gRPC server that listens. */
export interface GrpcServer {
  readonly port: number
  /** What the gRPC health service says of a service, or with the empty name of the process. */
  setServing(service: string, serving: boolean): void
  /** Takes no new call, lets those under way end for at most `grace_ms`, then cuts every connection. */
  close(grace_ms: number): Promise<void>
}

const SERVER_OPTIONS: ServerOptions = {
  // Statistics that nobody reads, for a tenth of a call's cost.
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_send_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_concurrent_streams': STREAMS_MAX,
  // A peer that vanished without a word is noticed within half a minute.
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_connection_idle_ms': 300_000,
  // Clients connect anew now and then, and so find the processes that came since; calls under way are let end.
  'grpc.max_connection_age_ms': 300_000,
  'grpc.max_connection_age_grace_ms': CALL_TIMEOUT_MAX_MS + 10_000,
}

/** Serves services by gRPC, with health and reflection beside them. Resolves when it listens. */
export async function serveGrpc(options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, port, endpoints, authenticate, tls } = options
  const services = [...new Set(endpoints.map(({ method }) => method.parent))]
  const server = new Server(SERVER_OPTIONS)
  addEndpoints(server, endpoints)
  const side = addHealthAndReflection(server, services, authenticate)
  // The port is ours and not grpc-js's, which says on the console what is wrong with one, and without its statistics
  // no longer finds the connections that it should cut. TLS ends there too: grpc-js reads its keys only once.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const door = createDoor(tls, (socket) => injector.injectConnection(socket))
  door.maxConnections = CONNECTIONS_MAX
  const listening = await listen(door, { host, port, variable: 'MULTIHUB_GRPC_PORT' })
  return {
    port: listening.port,
    setServing: side.setServing,
    async close(grace_ms) {
      side.setServing('', false)
      for (const { typeName } of services) side.setServing(typeName, false)
      side.end()
      server.tryShutdown(() => {})
      await listening.close(grace_ms)
      server.forceShutdown()
    },
  }
}

function createDoor(tls: Tls | undefined, enter: (socket: Socket) => void): Door {
  if (tls === undefined) return createServer({ noDelay: true }, enter)
  const options = { ...tlsServerOptions(tls), ALPNProtocols: ['h2'], noDelay: true }
  const door = createTlsServer(options, (socket) => {
    socket.on('error', (error) => log.debug({ error, part: 'grpc' }, 'a connection over TLS broke'))
    enter(socket)
  })
  door.on('tlsClientError', (error) =>
    log.debug({ error, part: 'grpc' }, 'a connection over TLS was not made'),
  )
  reloadSecureContext(door, tls)
  return door
}

/** Bytes in and out: messages are read and made by the dispatcher, where a bad one is judged and reported. */
const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const fromBuffer = (bytes: Buffer): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function addEndpoints(server: Server, endpoints: readonly Endpoint[]): void {
  const definition: Record<string, ServiceDefinition[string]> = {}
  const handlers: Record<string, handleUnaryCall<Uint8Array, Uint8Array>> = {}
  for (const endpoint of endpoints) {
    const { method } = endpoint
    const path = `/${method.parent.typeName}/${method.name}`
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
  // A process may have no service of its own (the gateway), which grpc-js takes for a mistake.
  if (endpoints.length > 0) server.addService(definition, handlers)
}

function createHandler(endpoint: Endpoint): handleUnaryCall<Uint8Array, Uint8Array> {
  return (call, callback) => {
    endpoint.call(grpcIncoming(call, endpoint)).then(
      ({ bytes }) => callback(null, bytes),
      (error: unknown) => callback(toGrpcStatus(ConnectError.from(error))),
    )
  }
}
