import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import {
  createInvalidRequestHandler,
  type InvalidRequestHandler,
} from '../hostile-connections/invalid-requests.ts'
import { beginExchange, type Exchange } from './exchange.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import type { Responder } from './responder.ts'

/** One public route: where it is, and what answers its requests, refusals included. */
export interface PublicRoute {
  /** As Fastify's router has it. */
  readonly path: string
  /** The one spelling of it that the contract knows, over the raw request target without its query. */
  readonly target: RegExp
  /** POST unless it says otherwise. */
  readonly verb?: 'GET'
  readonly serve: (exchange: Exchange) => Promise<void>
}

/** What the server of the public routes needs. */
export interface ServerOptions {
  readonly routes: readonly PublicRoute[]
  readonly answerer: Responder
  readonly log: Log
  /** Whether requests are taken: others are told to go elsewhere. */
  readonly isServing: () => boolean
}

/**
 * Makes the Fastify application of the public routes. Fastify routes and keeps the connections; bodies are read and
 * answers written by us, byte for byte, because both are signed. Measured: reading and writing around Fastify's own
 * reader and reply takes a quarter less time a request than hooks do.
 */
export function createServer({ routes, answerer, log, isServing }: ServerOptions): FastifyInstance {
  const notFound = (request: IncomingMessage, response: ServerResponse): void => {
    // The router takes other spellings of a path, too; the contract knows one.
    const wrong_verb = routes.some(
      ({ target, verb = 'POST' }) => request.method !== verb && isAt(request, target),
    )
    answerer.sendFailure(beginExchange(request, response), new PublicError(wrong_verb ? 1007 : 1001))
  }
  const app = createBareFastify(createInvalidRequestHandler(log), notFound)
  let under_way = 0
  const ended = (): void => {
    under_way -= 1
  }
  for (const { path, target, verb = 'POST', serve } of routes) {
    const handler: RouteHandlerMethod = ({ raw: request }, reply) => {
      reply.hijack()
      const response = reply.raw
      if (!isServing()) return void response.writeHead(503, { connection: 'close' }).end()
      if (!isAt(request, target)) return notFound(request, response)
      const exchange = beginExchange(request, response)
      if (under_way >= HTTP_LIMITS.requests_max) return answerer.sendFailure(exchange, new PublicError(2002))
      under_way += 1
      serve(exchange).then(ended, (error: unknown) => {
        ended()
        log.error({ request_id: exchange.request_id, error }, 'a request could not be answered')
        request.destroy()
      })
    }
    app.route({ method: verb, url: path, exposeHeadRoute: false, handler })
  }
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    notFound(request.raw, reply.raw)
  })
  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    answerer.sendFailure(beginExchange(request.raw, reply.raw), error)
  })
  return app
}

/** A query string does not make another target; that it is refused is said later (E15). */
function isAt({ url = '' }: IncomingMessage, target: RegExp): boolean {
  const query = url.indexOf('?')
  return target.test(query < 0 ? url : url.slice(0, query))
}

/** Fastify with our limits, and without anything that would answer or read in its own way. */
function createBareFastify(
  broken: InvalidRequestHandler,
  notFound: (request: IncomingMessage, response: ServerResponse) => void,
): FastifyInstance {
  const app = Fastify({
    serverFactory: (handle) => createBoundedServer(broken, handle),
    // An id in a path that is too long for any payment is judged with its credential, as every other one is.
    routerOptions: { maxParamLength: HTTP_LIMITS.head_max_bytes },
    // The exchange makes the id of a request.
    requestIdHeader: false,
    genReqId: () => '',
    return503OnClosing: false,
    clientErrorHandler: broken.handleClientError,
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      notFound(request.raw, reply.raw)
    },
  })
  app.removeAllContentTypeParsers()
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  return app
}

/** Node's server with our limits. Fastify sees only the requests that are taken. */
function createBoundedServer(
  broken: InvalidRequestHandler,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createHttpServer(
    {
      maxHeaderSize: HTTP_LIMITS.head_max_bytes,
      headersTimeout: HTTP_LIMITS.head_timeout_ms,
      requestTimeout: HTTP_LIMITS.request_timeout_ms,
      keepAliveTimeout: HTTP_LIMITS.idle_timeout_ms,
      connectionsCheckingInterval: HTTP_LIMITS.timeout_check_interval_ms,
      // A request without a host is refused in the envelope instead of by Node.
      requireHostHeader: false,
    },
    (request, response) => {
      if (broken.trackRequest(request, response)) handle(request, response)
    },
  )
  server.timeout = HTTP_LIMITS.inactivity_timeout_ms
  // Headers are counted by us: beyond its own limit Node drops them silently.
  server.maxHeadersCount = 0
  server.maxConnections = HTTP_LIMITS.connections_max
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, connection) => {
    if (connection instanceof Socket) broken.refuseTunnel(connection)
    else connection.destroy()
  })
  return server
}
