import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Address, type Listening, listen } from '#lib/platform/process/listen.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import type { ProviderCallback } from '../connectors/connector.ts'
import type { CallbackStatus } from '../use-cases/receive-provider-callback.ts'

const BODY_MAX_BYTES = 64 * 1024
/** A provider sends its few hundred bytes at once; who does not is none. */
const BODY_TIME_MS = 5_000
/** Callbacks being applied. Those that are still being sent do not count: anybody can keep such a one open. */
const APPLYING_MAX = 1_024
const CONNECTIONS_MAX = 10_000

/**
 * Takes the providers' callbacks, on a port of their own: they are no part of the merchants' interface (R2). What we
 * could not store is answered 503, so that the provider sends it again.
 */
export async function serveCallbacks(
  receive: (callback: ProviderCallback) => Promise<CallbackStatus>,
  address: Address,
): Promise<Listening> {
  let applying = 0
  const apply = async (callback: ProviderCallback): Promise<number> => {
    if (applying >= APPLYING_MAX) return 503
    applying += 1
    try {
      return await receive(callback)
    } catch (error) {
      log.error({ error }, 'a callback of a provider could not be taken')
      return 503
    } finally {
      applying -= 1
    }
  }
  const server = createServer((request, response) => {
    answer(apply, request, response).catch((error: unknown) => {
      log.info({ error }, 'a caller of the provider port broke off')
      request.destroy()
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  server.headersTimeout = 10_000
  server.requestTimeout = 20_000
  server.keepAliveTimeout = 65_000
  return listen(server, address)
}

async function answer(
  apply: (callback: ProviderCallback) => Promise<number>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url: path = '', headers } = request
  if (method !== 'POST') return refuse(request, response, 405)
  const late = clock.after(BODY_TIME_MS, () => request.destroy())
  const body = await readBody(request).finally(() => late.cancel())
  if (!body) return refuse(request, response, 413)
  const status = await apply({ method, path, headers, body })
  response.writeHead(status, { 'Content-Length': '0' }).end()
}

/** The bytes of the body; `undefined` when there are too many. Rejects when the caller breaks off. */
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
      // An error costs, and every request ends so.
      if (!request.complete) reject(new Error('the connection was closed before the body had come'))
    })
  })
}

/** What is left of the request is not worth reading, so the connection ends with the answer. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': '0', Connection: 'close' }).end()
  request.resume()
}
