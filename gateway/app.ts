import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { createShares, type Shares } from '#lib/patterns/keyed-concurrency.ts'
import { withRequest } from '#lib/platform/context.ts'
import {
  type AuthenticationDeps,
  createRequestAuthenticator,
  isAuthenticationFailure,
} from './auth/authenticate.ts'
import type { Caller } from './auth/caller.ts'
import { resendScheme } from './auth/resend-scheme.ts'
import type { SignatureScheme } from './auth/signature-scheme.ts'
import { v1Scheme } from './auth/v1-scheme.ts'
import { V2_SCHEME } from './auth/v2-scheme.ts'
import { holdBody } from './hostile-connections/body-memory-budget.ts'
import { limitConnectionsPerNetwork } from './hostile-connections/connection-limit.ts'
import { networkOf } from './hostile-connections/network.ts'
import { clientAddress } from './http/address.ts'
import { RequestAborted, readBody } from './http/body.ts'
import type { Exchange } from './http/exchange.ts'
import { checkFraming } from './http/framing.ts'
import { HTTP_LIMITS } from './http/http-limits.ts'
import { createResponder } from './http/responder.ts'
import { createServer, type PublicRoute } from './http/server.ts'
import type { JsonObject } from './json/parse.ts'
import type { FloodLimiter } from './limits/flood-limiter.ts'
import type { Limits } from './limits/limits.ts'
import {
  checkScope,
  enabledMethod,
  findMethod,
  type Method,
  type MethodRegistry,
  parseRequest,
} from './methods/method.ts'
import type { JsonSchema } from './openapi/json-schema.ts'
import { referenceRoute } from './openapi/serve.ts'
import { RESEND_TARGET, resendPath, V1_PATH, V1_TARGET, V2_PATH, V2_TARGET } from './paths.ts'

/** What the gateway is made of. */
export interface GatewayDeps extends AuthenticationDeps {
  /** How far the timestamp of a v1 request, or of one to the resend route, may be from now (A3). */
  readonly v1_window_ms: number
  readonly methods: MethodRegistry
  /** What the resend route does. */
  readonly resend: Method
  readonly limits: Limits
  readonly flood: FloodLimiter
  /** The document that is shown to anybody at /openapi.json; nothing is there without it. */
  readonly reference?: JsonSchema | undefined
  /** Whether requests are taken: not before the gateway can judge them, and not once it stops. */
  readonly isServing: () => boolean
}

/** A public route: how its callers prove themselves, and which method a request calls. */
interface Route extends Omit<PublicRoute, 'serve'> {
  readonly proof: SignatureScheme
  readonly methodOf: (request: JsonObject, caller: Caller) => Method
  /** What the path names, exactly as it stands there. */
  readonly pathId?: (request: IncomingMessage) => string | undefined
}

/** Makes the gateway as a Fastify application that does not listen yet. */
export function createGateway(options: GatewayDeps): FastifyInstance {
  const { methods, resend, v1_window_ms, log, isServing } = options
  const methodOf = (request: JsonObject, caller: Caller): Method => findMethod(methods, request, caller)
  const routes: readonly Route[] = [
    { path: V1_PATH, target: V1_TARGET, proof: v1Scheme(v1_window_ms), methodOf },
    { path: V2_PATH, target: V2_TARGET, proof: V2_SCHEME, methodOf },
    {
      path: resendPath(':payment_id'),
      target: RESEND_TARGET,
      proof: resendScheme(v1_window_ms),
      methodOf: (_request, caller) => enabledMethod(resend, caller),
      pathId: ({ url = '' }) => RESEND_TARGET.exec(url)?.[1],
    },
  ]
  const answerer = createResponder(log)
  const shares = createShares(HTTP_LIMITS.merchant_requests_max)
  const served = routes.map((route): PublicRoute => {
    const answerTo = createPipeline(route, shares, options)
    const { path, target } = route
    return {
      path,
      target,
      serve: async (exchange) => answerer.sendSuccess(exchange, await answerTo(exchange)),
    }
  })
  const shown = options.reference === undefined ? [] : [referenceRoute(options.reference)]
  const refusing = ({ serve, ...route }: PublicRoute): PublicRoute => ({
    ...route,
    serve: (exchange) =>
      withRequest({ request_id: exchange.request_id }, async () => {
        try {
          await serve(exchange)
        } catch (error) {
          if (!(error instanceof RequestAborted))
            return answerer.sendFailure(exchange, refusalFor(exchange, error, options))
          log.info({ outcome: 'caller gone' }, 'a request ended before it was complete')
        }
      }),
  })
  const app = createServer({ routes: [...served, ...shown].map(refusing), answerer, log, isServing })
  limitConnectionsPerNetwork(app.server, options.trusted_proxies)
  return app
}

/** The steps of A1, in their order; each refuses by throwing. */
function createPipeline({ proof, methodOf, pathId }: Route, shares: Shares, options: GatewayDeps) {
  const authenticate = createRequestAuthenticator(options, proof)
  const { limits, trusted_proxies } = options
  const addressOf = (request: IncomingMessage) => clientAddress(request, trusted_proxies)
  // By itself, so that the bytes of the body are gone while the method waits for others.
  const judge = async (exchange: Exchange) => {
    const held = holdBody(() => networkOf(addressOf(exchange.request)))
    let leave: (() => void) | undefined
    try {
      const body = await readBody(exchange, held)
      const caller = await authenticate(exchange, body)
      leave = shares.enter(caller.merchant_id)
      await limits.countRequest(caller)
      return { caller, leave, request: parseRequest(body) }
    } catch (error) {
      leave?.()
      throw error
    } finally {
      held.release()
    }
  }
  return async (exchange: Exchange): Promise<unknown> => {
    checkFraming(exchange.request)
    const { caller, leave, request } = await judge(exchange)
    try {
      const method = methodOf(request, caller)
      exchange.context.method = method.name
      checkScope(method, caller)
      await limits.admit(method.name, caller)
      return await method.call(request, caller, pathId?.(exchange.request))
    } finally {
      leave()
    }
  }
}

/**
 * What a refused caller is told. Proofs that failed are counted by address, and too many are 429 instead (E10); nobody
 * whose proof holds is ever asked for that count.
 */
function refusalFor(
  { request, context: found }: Exchange,
  error: unknown,
  { flood, trusted_proxies }: GatewayDeps,
): unknown {
  if (found.sign !== undefined || !isAuthenticationFailure(error)) return error
  return flood.recordFailure(clientAddress(request, trusted_proxies)) ?? error
}
