import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { PublicError } from '#lib/errors/public-error.ts'
import type { Log } from '#lib/telemetry/log.ts'
import type { Answerer } from './answer.ts'
import { type BrokenRequests, createBrokenRequests } from './broken-requests.ts'
import { beginExchange, type Exchange } from './exchange.ts'

/** How long the parts of an exchange may take, in milliseconds; Node and Fastify have no limit for most of them. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  /** Of silence on a connection: longer than a create may take to be answered. */
  connectionTimeout: 75_000,
}

/** How late a time-out may be noticed; Node looks every 30 s when nobody says so. */
const TIMEOUTS_CHECKED_MS = 1_000

const HEAD_MAX_BYTES = 16_384
const CONNECTIONS_MAX = 10_000

/** One public route: where it is, and what answers its requests, refusals included. */
export interface PublicRoute {
  readonly path: string
  readonly serve: (exchange: Exchange) => Promise<void>
}

/** What the server of the public routes needs. */
export interface ServerOptions {
  readonly routes: readonly PublicRoute[]
  readonly answerer: Answerer
  readonly log: Log
  /** Once aborted, new requests are told to go elsewhere. */
  readonly stopping: AbortSignal
}

/**
 * Makes the Fastify application of the public routes. Fastify routes and keeps the connections; bodies are read and
 * answers written by us, byte for byte, because both are signed. Measured: reading and writing around Fastify's own
 * reader and reply takes a quarter less time a request than hooks do.
 */
export function createServer({ routes, answerer, log, stopping }: ServerOptions): FastifyInstance {
  const paths = new Set(routes.map(({ path }) => path))
  const notFound = (request: IncomingMessage, response: ServerResponse): void => {
    // The router takes other spellings of a path, too; the contract knows one.
    const [path = ''] = (request.url ?? '').split('?', 1)
    const wrong_verb = paths.has(path) && request.method !== 'POST'
    answerer.failure(beginExchange(request, response), new PublicError(wrong_verb ? 1007 : 1001))
  }
  const app = createBareFastify(createBrokenRequests(log), notFound)
  for (const { path, serve } of routes) {
    app.post(path, ({ raw: request }, reply) => {
      reply.hijack()
      const response = reply.raw
      if (stopping.aborted) return void response.writeHead(503, { connection: 'close' }).end()
      if (request.url !== path && !request.url?.startsWith(`${path}?`)) return notFound(request, response)
      const exchange = beginExchange(request, response)
      serve(exchange).catch((error: unknown) => {
        log.error({ request_id: exchange.request_id, error }, 'a request could not be answered')
        request.destroy()
      })
    })
  }
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    notFound(request.raw, reply.raw)
  })
  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    answerer.failure(beginExchange(request.raw, reply.raw), error)
  })
  return app
}

/** Fastify with our limits, and without anything that would answer or read in its own way. */
function createBareFastify(
  broken: BrokenRequests,
  notFound: (request: IncomingMessage, response: ServerResponse) => void,
): FastifyInstance {
  const app = Fastify({
    ...TIMEOUTS,
    http: {
      maxHeaderSize: HEAD_MAX_BYTES,
      headersTimeout: TIMEOUTS.headersTimeout,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_MS,
      // A request without a host is refused in the envelope instead of by Node.
      requireHostHeader: false,
    },
    // The exchange makes the id of a request.
    requestIdHeader: false,
    genReqId: () => '',
    return503OnClosing: false,
    clientErrorHandler: broken.handle,
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      notFound(request.raw, reply.raw)
    },
  })
  const { server } = app
  // Headers are counted by us: beyond its own limit Node drops them silently.
  server.maxHeadersCount = 0
  server.maxConnections = CONNECTIONS_MAX
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.prependListener('request', broken.began)
  app.removeAllContentTypeParsers()
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  return app
}
