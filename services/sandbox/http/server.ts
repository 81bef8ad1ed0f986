import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Address, listen } from '#lib/platform/process/listen.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import type { RequestHandler } from './handle-request.ts'
import { refuse, respondText, type ServerAction } from './protocol.ts'

/** A listening server. */
export interface ProviderServer {
  /** Host and port in the form of a URL. */
  readonly authority: string
  /** Accepts no new connection, closes connections that wait without a response, and lets requests finish. */
  stop(): Promise<void>
}

const BODY_MAX_BYTES = 64 * 1024
/** The most requests in progress. Beyond it a bare 503 leaves the outcome open, so that the caller tries again. */
const IN_PROGRESS_MAX = 4096
/** The most connections that wait without a response. Beyond it a connection is reset instead. */
const NO_RESPONSE_MAX = 1024

const sandboxLog = log.child('sandbox')

/**
 * Serves the provider protocol over HTTP. `hold_ms` is how long digits 903 keep a connection without a response. An
 * unexpected error gets a bare 500: the operation may exist or not, and only a look-up can tell.
 */
export async function serveProvider(
  handle: RequestHandler,
  { hold_ms, ...address }: Address & { readonly hold_ms: number },
): Promise<ProviderServer> {
  const held_sockets = new Set<Socket>()
  let in_progress = 0

  const hold = (socket: Socket): void => {
    const timer = clock.after(hold_ms, () => socket.destroy())
    held_sockets.add(socket)
    socket.once('close', () => {
      timer.cancel()
      held_sockets.delete(socket)
    })
  }

  const perform = (action: ServerAction, response: ServerResponse): void => {
    const { socket } = response
    if (action.kind === 'response') respond(action, response)
    else if (action.kind === 'no_response' && held_sockets.size < NO_RESPONSE_MAX && socket) hold(socket)
    else socket?.resetAndDestroy()
  }

  const server = createServer((request, response) => {
    const action =
      in_progress < IN_PROGRESS_MAX
        ? readAndHandle(handle, request)
        : Promise.resolve(respondText(503, 'Busy\n'))
    in_progress += 1
    action
      .catch((error: unknown) => {
        if (request.complete) sandboxLog.error({ error }, 'request to the sandbox failed')
        return respondText(500, 'Fault\n')
      })
      .then((decided) => perform(decided, response))
      .finally(() => {
        in_progress -= 1
      })
      .catch((error: unknown) => sandboxLog.error({ error }, 'response of the sandbox was not sent'))
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 20_000
  // Longer than callers keep a connection, so that no request arrives while the server closes it.
  server.keepAliveTimeout = 65_000

  const listening = await listen(server, address)
  return {
    authority: listening.authority,
    stop() {
      for (const socket of held_sockets) socket.destroy()
      return listening.close()
    },
  }
}

/** Reads the body and handles the request. Throws when the caller disconnects within its body. */
async function readAndHandle(handle: RequestHandler, request: IncomingMessage): Promise<ServerAction> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES) return refuse('too_large')
  const parts: Buffer[] = []
  let size_bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size_bytes += part.length
    // Leaving the loop closes the connection, because a chunked body of this kind may be endless.
    if (size_bytes > BODY_MAX_BYTES) return refuse('too_large')
    parts.push(part)
  }
  const { method = '', url: path = '', headers } = request
  return handle({ method, path, headers, body: Buffer.concat(parts) })
}

/** Sends a response. It closes the connection when the body of the request was not read. */
function respond(
  { http_status, type, body }: Extract<ServerAction, { kind: 'response' }>,
  response: ServerResponse,
): void {
  response.writeHead(http_status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(response.req.complete ? {} : { connection: 'close' }),
  })
  response.end(body)
}
