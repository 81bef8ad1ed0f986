import type { Transport } from '@connectrpc/connect'
import {
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import { LRUCache } from 'lru-cache'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Tls } from '#lib/http/tls.ts'
import { channelCredentials } from '../credentials.ts'
import { fromGrpcStatus } from '../errors.ts'
import { MESSAGE_MAX_BYTES } from '../settings.ts'
import { createReconnectingClient } from './reconnecting-client.ts'
import { createUnaryTransport, type OutgoingCall } from './unary-transport.ts'

interface GrpcTransportOptions {
  /** `host:port`. Calls are spread over all addresses of the name. */
  readonly address: string
  readonly credentials: ChannelCredentials
  readonly token?: Secret | undefined
}

interface GrpcTransport extends Transport {
  close(): void
}

const CHANNEL_OPTIONS: ChannelOptions = {
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_send_message_length': MESSAGE_MAX_BYTES,
  // How often an unused connection tries again; a call tries at once, see reconnecting-client.ts.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.dns_min_time_between_resolutions_ms': 2000,
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  // A headless Kubernetes service has one address per pod; each pod gets its share of the calls.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  // Proxy variables of the environment are not meant for calls between our own processes.
  'grpc.enable_http_proxy': 0,
}

/** Creates a Connect transport over grpc-js, which is much faster than connect-node's own (see `npm run bench rpc`). */
function createGrpcTransport({ address, credentials, token }: GrpcTransportOptions): GrpcTransport {
  const connection = createReconnectingClient(address, credentials, CHANNEL_OPTIONS)
  const authorization = token === undefined ? undefined : `Bearer ${token.reveal()}`
  const transport = createUnaryTransport(async (call) =>
    send(await connection.current(), call, metadataOf(call, authorization)),
  )
  return { ...transport, close: connection.close }
}

const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const fromBuffer = (bytes: Buffer): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function send(client: Client, call: OutgoingCall, metadata: Metadata): Promise<Uint8Array> {
  const { method, request, signal, timeout_ms } = call
  return new Promise((resolve, reject) => {
    const path = `/${method.parent.typeName}/${method.name}`
    const deadline = clock.now_ms() + timeout_ms
    const stop = (): void => sent.cancel()
    const answered = (error: ServiceError | null, bytes?: Uint8Array): void => {
      signal?.removeEventListener('abort', stop)
      if (error !== null) reject(fromGrpcStatus(error))
      else resolve(bytes ?? new Uint8Array())
    }
    const sent = withoutStack(() =>
      client.makeUnaryRequest(path, toBuffer, fromBuffer, request, metadata, { deadline }, answered),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/**
 * Runs `work` without stack traces. grpc-js captures a stack trace at the start of every call (6 % of its cost) for a
 * possible error. We replace that error, so no trace is captured.
 */
function withoutStack<T>(work: () => T): T {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = limit
  }
}

function metadataOf({ headers }: OutgoingCall, authorization: string | undefined): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of headers) metadata.set(name, value)
  if (authorization !== undefined) metadata.set('authorization', authorization)
  return metadata
}

/** The connections of a process to other processes: one per address, opened at the first call. */
export type OutgoingConnections = ReturnType<typeof createOutgoingConnections>

/**
 * The largest number of addresses with a connection. Each release gives the processes of a role other addresses, so those
 * of processes that are gone must not stay. Beyond this number the connection that was unused for the longest time is
 * closed; its calls in progress end.
 */
const CONNECTIONS_MAX = 256

/** Creates the connections of a process, which uses the same token or certificate for all of them. */
export function createOutgoingConnections(token: Secret | undefined, tls: Tls | undefined) {
  const credentials = channelCredentials(tls)
  const open = new LRUCache<string, GrpcTransport>({
    max: CONNECTIONS_MAX,
    dispose: (connection) => connection.close(),
  })
  let is_closed = false
  const connectionTo = (address: string): GrpcTransport => {
    if (is_closed) throw new PublicError(2002)
    const existing = open.get(address)
    if (existing !== undefined) return existing
    const made = createGrpcTransport({ address, credentials, token })
    open.set(address, made)
    return made
  }
  return {
    /**
     * A transport to the address. Each call uses the connection that the address has then, so a transport can be kept: it
     * also works after a connection was closed.
     */
    to: (address: string): Transport => ({
      unary: (...call) => connectionTo(address).unary(...call),
      stream: (...call) => connectionTo(address).stream(...call),
    }),
    /** Closes all connections. Later calls fail with 2002. */
    close() {
      is_closed = true
      open.clear()
    },
  }
}
