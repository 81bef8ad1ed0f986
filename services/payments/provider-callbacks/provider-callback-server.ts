import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { clock } from '#lib/base/time.ts'
import {
  CONNECTIONS_CHECK_MS,
  createConnectionLimit,
  internalLimits,
  peerOf,
} from '#lib/http/connection-limit.ts'
import { type Address, type Listening, listen } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ProviderCallback } from '../connectors/connector.ts'
import type { ReceiveProviderCallback } from './receive-provider-callback.ts'

const BODY_MAX_BYTES = 64 * 1024
const HEADER_MAX_BYTES = 16 * 1024
const HEAD_TIMEOUT_MS = 10_000
/** A provider sends its few hundred bytes at once, so a slower body is not from a provider. */
const BODY_TIMEOUT_MS = 5_000
/** The number of complete callbacks in progress. Incomplete ones do not count, because any client can keep them open. */
const IN_PROGRESS_MAX = 1_024
const CONNECTIONS_MAX = 10_000

/** Serves the callbacks of providers on a port of their own, because they are not part of the merchants' API (R2). */
export async function serveProviderCallbacks(
  receive: ReceiveProviderCallback,
  address: Address,
): Promise<Listening> {
  return listen(createProviderCallbackServer(receive), address)
}

/**
 * Makes the server of these callbacks, which does not listen yet. A callback that could not be stored, or that comes while
 * too many are in progress, gets 503, so that the provider repeats it. No client can keep a connection by being slow.
 */
export function createProviderCallbackServer(
  receive: ReceiveProviderCallback,
  connections_max = CONNECTIONS_MAX,
): Server {
  const connections = createConnectionLimit('provider_callbacks', internalLimits(connections_max))
  let in_progress = 0
  const receiveFrom = async (peer: string, callback: ProviderCallback): Promise<number> => {
    if (in_progress >= IN_PROGRESS_MAX) return 503
    in_progress += 1
    try {
      const status = await receive(callback)
      // Its signature was verified.
      if (status === 200) connections.markAuthenticated(peer)
      return status
    } catch (error) {
      log.error({ error }, 'provider callback failed; the provider repeats it')
      return 503
    } finally {
      in_progress -= 1
    }
  }
  const options = { maxHeaderSize: HEADER_MAX_BYTES, connectionsCheckingInterval: CONNECTIONS_CHECK_MS }
  const server = createServer(options, (request, response) => {
    const peer = peerOf(request.socket)
    respond((callback) => receiveFrom(peer, callback), request, response).catch((error: unknown) => {
      log.info({ error }, 'client of the provider port disconnected')
      request.destroy()
    })
  })
  connections.attach(server)
  server.headersTimeout = HEAD_TIMEOUT_MS
  server.keepAliveTimeout = 65_000
  return server
}

async function respond(
  receive: (callback: ProviderCallback) => Promise<number>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url: path = '', headers } = request
  if (method !== 'POST') return refuse(request, response, 405)
  const timeout = clock.after(BODY_TIMEOUT_MS, () => request.destroy())
  const body = await readBody(request).finally(() => timeout.cancel())
  if (!body) return refuse(request, response, 413)
  const status = await receive({ method, path, headers, body })
  response.writeHead(status, { 'Content-Length': '0' }).end()
}

/** Reads the body; `undefined` when it is too large. Rejects when the client disconnects. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size_bytes = 0
    request.on('data', (chunk: Buffer) => {
      size_bytes += chunk.length
      if (size_bytes > BODY_MAX_BYTES) resolve(undefined)
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => {
      // Every request emits `close`, and an Error is expensive, so one is made only for an incomplete body.
      if (!request.complete) reject(new Error('the connection was closed before the end of the body'))
    })
  })
}

/** Refuses a request and closes the connection, because the rest of the request is not worth reading. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': '0', Connection: 'close' }).end()
  request.resume()
}
