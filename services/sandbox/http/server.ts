import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Address, listen } from '#lib/platform/process/listen.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import { type ProviderRequest, plain, type Reaction, refusal } from '../provider.ts'

/** A listening server. */
export interface ProviderServer {
  /** Host and port as they stand in a URL. */
  readonly authority: string
  /** Takes no new connection, ends the silent ones and lets the others finish. */
  stop(): Promise<void>
}

const BODY_MAX_BYTES = 64 * 1024
/** Requests being worked on. Beyond it a bare 503 says nothing about the operation, so the caller asks again. */
const IN_FLIGHT_MAX = 4096
/** Connections left without an answer; one more is broken at once. */
const SILENT_MAX = 1024

const lines = log.child('sandbox')

/**
 * Serves a provider over HTTP. `hold_ms` is how long a caller is left without any answer (digits 903). A fault is a
 * bare 500: the operation may or may not be there, and only a look-up can tell.
 */
export async function serveProvider(
  handle: (request: ProviderRequest) => Promise<Reaction>,
  { hold_ms, ...address }: Address & { readonly hold_ms: number },
): Promise<ProviderServer> {
  const silent = new Set<Socket>()
  let in_flight = 0

  const fallSilent = (socket: Socket): void => {
    const timer = clock.after(hold_ms, () => socket.destroy())
    silent.add(socket)
    socket.once('close', () => {
      timer.cancel()
      silent.delete(socket)
    })
  }

  const react = (reaction: Reaction, response: ServerResponse): void => {
    if (reaction.kind === 'answer') respond(reaction, response)
    else if (reaction.kind === 'silence' && silent.size < SILENT_MAX && response.socket)
      fallSilent(response.socket)
    else response.socket?.resetAndDestroy()
  }

  const server = createServer((request, response) => {
    const answered =
      in_flight < IN_FLIGHT_MAX ? answer(handle, request) : Promise.resolve(plain(503, 'Busy\n'))
    in_flight += 1
    answered
      .catch((error: unknown) => {
        if (request.complete) lines.error({ error }, 'A request to the sandbox failed')
        return plain(500, 'Fault\n')
      })
      .then((reaction) => react(reaction, response))
      .finally(() => {
        in_flight -= 1
      })
      .catch((error: unknown) => lines.error({ error }, 'An answer of the sandbox could not be sent'))
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 20_000
  // Longer than any caller keeps a connection, so that a request never meets one that is just being closed.
  server.keepAliveTimeout = 65_000

  const listening = await listen(server, address)
  return {
    authority: listening.authority,
    stop() {
      for (const socket of silent) socket.destroy()
      return listening.close()
    },
  }
}

/** Throws when the caller goes away in the middle of its body: then it asked for nothing. */
async function answer(
  handle: (request: ProviderRequest) => Promise<Reaction>,
  request: IncomingMessage,
): Promise<Reaction> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES) return refusal('too_large')
  const parts: Buffer[] = []
  let size_bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size_bytes += part.length
    // Leaving the loop breaks the connection, which is all that an endless body of unsaid length deserves.
    if (size_bytes > BODY_MAX_BYTES) return refusal('too_large')
    parts.push(part)
  }
  const body = Buffer.concat(parts)
  return handle({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
}

/** After an answer to a request whose body was not read, the connection cannot be used again. */
function respond(
  { http_status, type, body }: Extract<Reaction, { kind: 'answer' }>,
  response: ServerResponse,
): void {
  response.writeHead(http_status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(response.req.complete ? {} : { connection: 'close' }),
  })
  response.end(body)
}
