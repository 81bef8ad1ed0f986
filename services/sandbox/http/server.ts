import type { Socket } from 'node:net'
import Fastify, { type FastifyError, type FastifyReply, type FastifyRequest } from 'fastify'
import { clock } from '#lib/base/time.ts'
import { CONNECTIONS_CHECK_MS, createConnectionLimit, internalLimits } from '#lib/http/connection-limit.ts'
import { type Address, type Listening, listen } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import type { RequestHandler } from './handle-request.ts'
import { refuse, respondText, type ServerResponse } from './protocol.ts'

const BODY_MAX_BYTES = 64 * 1024
/** The most connections, and so the most requests in progress. Further ones are closed: the outcome stays unknown. */
const CONNECTIONS_MAX = 5120
/** The most connections that wait without a response. Beyond it a connection is reset instead. */
const NO_RESPONSE_MAX = 1024

const sandbox_log = log.child('sandbox')

/**
 * Serves the provider protocol over HTTP. `silence_ms` is how long an amount that ends in 903 keeps a connection open
 * without a response. An unexpected error gets HTTP 500 without a protocol body: the operation may exist or not, and
 * only a lookup can tell.
 */
export async function serveProvider(
  handle: RequestHandler,
  { silence_ms, ...address }: Address & { readonly silence_ms: number },
): Promise<Listening> {
  const silent_sockets = new Set<Socket>()

  const keepSilent = (socket: Socket): void => {
    const timer = clock.after(silence_ms, () => socket.destroy())
    silent_sockets.add(socket)
    socket.once('close', () => {
      timer.cancel()
      silent_sockets.delete(socket)
    })
  }

  const handleAndRespond = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { method = '', url: path = '', headers } = request.raw
    const body = request.body instanceof Buffer ? request.body : Buffer.alloc(0)
    const action = await handle({ method, path, headers, body })
    if (action.kind === 'response') {
      respond(action, reply)
      return reply
    }
    reply.hijack()
    const { socket } = reply.raw
    if (action.kind === 'no_response' && silent_sockets.size < NO_RESPONSE_MAX && socket) keepSilent(socket)
    else socket?.resetAndDestroy()
    return reply
  }

  const app = Fastify({
    bodyLimit: BODY_MAX_BYTES,
    requestTimeout: 20_000,
    http: { connectionsCheckingInterval: CONNECTIONS_CHECK_MS },
    // Longer than callers keep a connection, so that no request arrives while the server closes it.
    keepAliveTimeout: 65_000,
    // A URL that cannot be decoded.
    frameworkErrors: (_error, _request, reply) => respond(refuse('unknown_path'), reply),
  })
  app.server.headersTimeout = 10_000
  createConnectionLimit('sandbox', internalLimits(CONNECTIONS_MAX)).attach(app.server)
  // The signature covers the raw body, whatever its content type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.all('*', handleAndRespond)
  // Methods that Fastify does not route.
  app.setNotFoundHandler(handleAndRespond)
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    if (error.statusCode === 413) return respond(refuse('too_large'), reply)
    if (request.raw.complete) sandbox_log.error({ error }, 'request to the sandbox failed')
    respond(respondText(500, 'Fault\n'), reply)
  })

  await app.ready()
  const listening = await listen(app.server, address)
  return {
    ...listening,
    close(grace_ms) {
      for (const socket of silent_sockets) socket.destroy()
      return listening.close(grace_ms)
    },
  }
}

/** Sends a response. It closes the connection when the body of the request was not read. */
function respond({ http_status, type, body }: ServerResponse, reply: FastifyReply): void {
  if (!reply.request.raw.complete) reply.header('connection', 'close')
  reply.code(http_status).header('content-type', type).send(body)
}
