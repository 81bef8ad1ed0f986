import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { beginExchange, type Exchange } from './exchange.ts'
import type { ExchangeLog } from './exchange-log.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { createInvalidRequestHandler, type InvalidRequestHandler } from './invalid-requests.ts'
import type { Responder } from './response.ts'

/** A path of the public interface, and the function that answers its requests. */
export interface PublicPath {
  /** The path in the syntax of Fastify's router. */
  readonly path: string
  /** The one spelling that is accepted, matched against the raw request target without its query. */
  readonly target: RegExp
  /** POST by default. */
  readonly verb?: 'GET' | 'PUT'
  /** Sends the response, for refusals too. */
  readonly serve: (exchange: Exchange) => Promise<void>
}

interface ServerDeps {
  readonly paths: readonly PublicPath[]
  readonly responder: Responder
  readonly log: Log
  readonly exchange_log: ExchangeLog
  /** While this is `false`, every request to a known path gets HTTP 503 and its connection is closed. */
  readonly isServing: () => boolean
}

/**
 * Makes the Fastify application of the public paths.
 *
 * Fastify routes requests and manages connections. The gateway reads bodies and writes responses itself, because
 * signatures cover their exact bytes. Measured: Fastify's parsers, hooks and `reply.send` take 11 to 16 % more processor
 * time per `gateway.ping` (docs/decisions.md).
 */
export function createServer({
  paths,
  responder,
  log,
  exchange_log,
  isServing,
}: ServerDeps): FastifyInstance {
  const refuseUnknown = (request: IncomingMessage, response: ServerResponse): void => {
    // Fastify's router also accepts other spellings of a path; the contract does not.
    const is_wrong_verb = paths.some(
      ({ target, verb = 'POST' }) => request.method !== verb && matchesTarget(request, target),
    )
    responder.sendFailure(beginExchange(request, response), new PublicError(is_wrong_verb ? 1007 : 1001))
  }
  const app = createFastify(createInvalidRequestHandler(exchange_log), refuseUnknown)
  let in_progress = 0
  const finishRequest = (): void => {
    in_progress -= 1
  }
  for (const { path, target, verb = 'POST', serve } of paths) {
    const handler: RouteHandlerMethod = ({ raw: request }, reply) => {
      reply.hijack()
      const response = reply.raw
      if (!isServing()) return void response.writeHead(503, { connection: 'close' }).end()
      if (!matchesTarget(request, target)) return refuseUnknown(request, response)
      const exchange = beginExchange(request, response)
      if (in_progress >= HTTP_LIMITS.requests_max)
        return responder.sendFailure(exchange, new PublicError(2002))
      in_progress += 1
      serve(exchange).then(finishRequest, (error: unknown) => {
        finishRequest()
        log.error(
          { request_id: exchange.request_id, error },
          'sending the response failed; closing the connection',
        )
        request.destroy()
      })
    }
    app.route({ method: verb, url: path, exposeHeadRoute: false, handler })
  }
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    refuseUnknown(request.raw, reply.raw)
  })
  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    responder.sendFailure(beginExchange(request.raw, reply.raw), error)
  })
  return app
}

/** Ignores the query string: a request with one reaches the handler of its path and is refused there with 1003 (E15). */
function matchesTarget({ url = '' }: IncomingMessage, target: RegExp): boolean {
  const query = url.indexOf('?')
  return target.test(query < 0 ? url : url.slice(0, query))
}

/** Makes Fastify with the gateway's limits and without its own body parsers and error responses. */
function createFastify(
  invalid_requests: InvalidRequestHandler,
  refuseUnknown: (request: IncomingMessage, response: ServerResponse) => void,
): FastifyInstance {
  const app = Fastify({
    serverFactory: (handle) => createNodeServer(invalid_requests, handle),
    // A path parameter that is too long for a payment id is refused after authentication, as any other wrong id.
    routerOptions: { maxParamLength: HTTP_LIMITS.head_max_bytes },
    // `beginExchange` makes request ids.
    requestIdHeader: false,
    genReqId: () => '',
    return503OnClosing: false,
    clientErrorHandler: invalid_requests.handleClientError,
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      refuseUnknown(request.raw, reply.raw)
    },
  })
  app.removeAllContentTypeParsers()
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  return app
}

/** The scheme and the authority of a target in absolute form. */
const AUTHORITY = /^https?:\/\/[^/?#]*/i

/** Turns a target in absolute form (`http://host/path`) into its path, which is routed and signed (E7, A2). */
function removeAuthority(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.startsWith('/')) return
  const path = url.replace(AUTHORITY, '')
  if (path !== url) request.url = path.startsWith('/') ? path : `/${path}`
}

/** Makes Node's HTTP server with the gateway's limits. Fastify sees only the requests that are tracked. */
function createNodeServer(
  invalid_requests: InvalidRequestHandler,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createHttpServer(
    {
      maxHeaderSize: HTTP_LIMITS.head_max_bytes,
      headersTimeout: HTTP_LIMITS.head_timeout_ms,
      // The limit of uploads. Every other body has `request_timeout_ms`, in `readBody` and `drainRequest`.
      requestTimeout: HTTP_LIMITS.upload_timeout_ms,
      keepAliveTimeout: HTTP_LIMITS.idle_timeout_ms,
      connectionsCheckingInterval: HTTP_LIMITS.timeout_check_interval_ms,
      // `checkRequestHead` refuses a request without a host in the envelope; Node's own refusal is not an envelope.
      requireHostHeader: false,
    },
    (request, response) => {
      if (!invalid_requests.trackRequest(request, response)) return
      removeAuthority(request)
      handle(request, response)
    },
  )
  server.timeout = HTTP_LIMITS.inactivity_timeout_ms
  // `checkRequestHead` counts the headers. Node would drop those beyond 1,000 silently, and the request would be refused for
  // what a dropped one lacks instead of for their number. `maxHeaderSize` bounds them.
  server.maxHeadersCount = 0
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, connection) => {
    if (connection instanceof Socket) invalid_requests.refuseTunnel(connection)
    else connection.destroy()
  })
  return server
}
