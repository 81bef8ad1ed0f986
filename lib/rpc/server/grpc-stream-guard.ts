import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { Server } from '@grpc/grpc-js'
import { Health } from '#gen/grpc/health/v1/health_pb.ts'
import { authorizationOf } from '../credentials/authorization-header.ts'

const HEALTH_PATH = `/${Health.typeName}/`
/** The largest request for health. It holds the name of one service. */
const HEALTH_REQUEST_MAX_BYTES = 1024

/**
 * The most requests for health that are open in a process. Callers without a token can leave them open, half-sent or as
 * a watch, and each takes 10 kB. Beyond it the oldest is ended, so that a probe is always answered.
 */
const HEALTH_STREAMS_MAX = 1_000

/**
 * Looks at each HTTP/2 stream before grpc-js does. Several Authorization headers become a header that no token matches, as on
 * the Connect port. Every caller may ask for health, so a health request that is too long ends its stream (grpc-js would
 * hold up to 4 MiB of it), and few of them are open at a time. Throws when grpc-js has no HTTP/2 server where this
 * release expects it.
 */
export function guardStreams(server: Server): void {
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

/** gRPC clients read the code of the end as "resource exhausted". */
function endWhenLongerThan(stream: ServerHttp2Stream, max_bytes: number): void {
  let received_bytes = 0
  stream.on('data', ({ byteLength }: Buffer) => {
    received_bytes += byteLength
    if (received_bytes > max_bytes) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
}
