import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Address, type Listening, listen } from '#lib/process/listen.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ReceivedCallback } from './connectors/connector.ts'
import type { CallbackStatus } from './receive-callback.ts'

const BODY_MAX_BYTES = 64 * 1024
const IN_FLIGHT_MAX = 1024

/**
 * Takes the providers' callbacks, on a port of their own: they are no part of the merchants' interface (R2). What we
 * could not store is answered 503, so that the provider sends it again.
 */
export async function serveCallbacks(
  receive: (callback: ReceivedCallback) => Promise<CallbackStatus>,
  address: Address,
): Promise<Listening> {
  let in_flight = 0
  const server = createServer((request, response) => {
    if (in_flight >= IN_FLIGHT_MAX) return respond(response, 503)
    in_flight += 1
    answer(receive, request)
      .catch((error: unknown) => {
        log.error({ error }, 'a callback of a provider could not be taken')
        return 503
      })
      .then((status) => respond(response, status))
      .finally(() => (in_flight -= 1))
      .catch((error: unknown) => log.warn({ error }, 'a provider was not answered'))
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 20_000
  server.keepAliveTimeout = 65_000
  return listen(server, address)
}

async function answer(
  receive: (callback: ReceivedCallback) => Promise<CallbackStatus>,
  request: IncomingMessage,
): Promise<number> {
  const { method = '', url: path = '', headers } = request
  if (method !== 'POST') return 405
  const chunks: Buffer[] = []
  let size_bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size_bytes += chunk.length
    if (size_bytes > BODY_MAX_BYTES) return 413
    chunks.push(chunk)
  }
  return receive({ method, path, headers, body: Buffer.concat(chunks) })
}

/** Providers need the status and nothing else. */
function respond(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': '0' }).end()
}
