import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Agent } from 'undici'
import { systemErrorCode } from '#lib/base/files.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { CONNECTIONS_CHECK_MS, createConnectionLimit, internalLimits, peerOf } from './connection-limit.ts'
import { reloadSecureContext, secureContextOptions, type Tls, tlsServerOptions } from './tls.ts'

/** A request between roles whose body and response are streams. */
export interface StreamRequest {
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<Uint8Array>
  /** Ends the exchange, the reading of the response included. */
  readonly signal: AbortSignal
}

/** A response whose body is read as it is taken. */
export interface StreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * Answers streams: a role in the same process, or a client of a role in another one. A failed exchange throws
 * `Unavailable`; a body that ends early makes the iteration of it throw.
 */
export type StreamHandler = (request: StreamRequest) => Promise<StreamResponse>

/** Sends streams to a role in another process. */
export type StreamClient = ReturnType<typeof createStreamClient>

/** The time of a connection that transfers nothing. */
const INACTIVITY_TIMEOUT_MS = 75_000
/** A request of this length is cut off by its caller long before. */
const REQUEST_TIMEOUT_MS = 600_000
const CONNECT_TIMEOUT_MS = 5_000
const CONNECTIONS_MAX = 1_024
/** What one stream buffers in this process, next to the buffers of its sockets. */
const BUFFER_BYTES = 64 * 1024

/** Makes a server for the streams between our own processes. With TLS it asks callers for a certificate, like gRPC. */
export function createInternalServer(
  tls: Tls | undefined,
  handle: StreamHandler,
  connections_max = CONNECTIONS_MAX,
): Server {
  const limits = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: 10_000,
    connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
  }
  const connections = createConnectionLimit('files', internalLimits(connections_max))
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const peer = peerOf(request.socket)
    const handleAndMark: StreamHandler = async (stream) => {
      const answered = await handle(stream)
      // Only a link that proves itself gets this.
      if (answered.status === 200) connections.markAuthenticated(peer)
      return answered
    }
    answer(handleAndMark, request, response).catch((error: unknown) => {
      // A response that has begun is cut off, so that the other side cannot take it for complete.
      response.destroy()
      if (!isPrematureClose(error)) log.error({ error }, 'a stream to another process failed')
    })
  }
  const server =
    tls === undefined
      ? createServer(limits, listener)
      : createTlsServer({ ...limits, ...tlsServerOptions(tls) }, listener)
  if (tls !== undefined && 'setSecureContext' in server) reloadSecureContext(server, tls)
  server.timeout = INACTIVITY_TIMEOUT_MS
  server.keepAliveTimeout = 65_000
  connections.attach(server)
  return server
}

async function answer(
  handle: StreamHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url: path = '' } = request
  if (method !== 'GET' && method !== 'PUT') return void response.writeHead(405, { Connection: 'close' }).end()
  const ending = new AbortController()
  response.once('close', () => ending.abort())
  // The request stays open when its body is not read to the end, so that the response can be sent.
  const body = request.iterator({ destroyOnReturn: false })
  const answered = await handle({ method, path, body, signal: ending.signal })
  response.writeHead(answered.status, answered.headers)
  // The rest of a body that was not read to its end is discarded: closing the connection with unread bytes would reset it,
  // and the reset can destroy the response before the client reads it.
  if (!request.complete) request.resume()
  await pipeline(answered.body, response)
}

/** Makes a client of the server at a base URL. With TLS it presents the certificate of this process. */
export function createStreamClient(base_url: string, tls: Tls | undefined) {
  let agent = createAgent(tls)
  tls?.onChange(() => {
    const before = agent
    agent = createAgent(tls)
    void before.close()
  })
  return {
    async send({ method, path, headers = {}, body, signal }: StreamRequest): Promise<StreamResponse> {
      try {
        const response = await agent.request({
          origin: new URL(base_url).origin,
          path,
          method,
          headers,
          body:
            body === undefined
              ? null
              : Readable.from(body, { objectMode: false, highWaterMark: BUFFER_BYTES }),
          signal,
        })
        return { status: response.statusCode, headers: response.headers, body: response.body }
      } catch (cause) {
        throw new Unavailable('the other process gave no response to a stream', { cause })
      }
    },
    close: () => agent.destroy(),
  }
}

function createAgent(tls: Tls | undefined): Agent {
  return new Agent({
    connect: { ...(tls && secureContextOptions(tls.current())), timeout: CONNECT_TIMEOUT_MS },
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    allowH2: false,
    // The caller limits the whole exchange with its signal.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Whether a stream failed because its reader has gone. */
export function isPrematureClose(error: unknown): boolean {
  return systemErrorCode(error) === 'ERR_STREAM_PREMATURE_CLOSE'
}
