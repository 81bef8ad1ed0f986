import type { FastifyInstance } from 'fastify'
import { withRequest } from '#lib/context.ts'
import type { Log } from '#lib/telemetry/log.ts'
import type { Authenticate } from './auth/v1.ts'
import { type Answerer, createAnswerer } from './http/answer.ts'
import { CallerGone, readBody } from './http/body.ts'
import type { Exchange } from './http/exchange.ts'
import { checkFraming } from './http/framing.ts'
import { createServer } from './http/server.ts'
import { parseJson } from './json/parse.ts'
import { findMethod, type MethodRegistry } from './methods/method.ts'

/** What the gateway is made of. */
export interface GatewayOptions {
  readonly authenticateV1: Authenticate
  readonly methods: MethodRegistry
  readonly log: Log
  /** Aborted when the process is told to stop. */
  readonly stopping: AbortSignal
}

/** The one route of all methods, with the v1 signature. */
export const V1_PATH = '/public/api/multihub/v1'

/** Makes the gateway as a Fastify application that does not listen yet. */
export function createGateway({ authenticateV1, methods, log, stopping }: GatewayOptions): FastifyInstance {
  const answerer = createAnswerer(log)
  const serve = serveMethods(authenticateV1, methods, answerer, log)
  return createServer({ routes: [{ path: V1_PATH, serve }], answerer, log, stopping })
}

/** The steps of A1, in their order; each refuses by throwing. */
function serveMethods(authenticate: Authenticate, methods: MethodRegistry, answerer: Answerer, log: Log) {
  const answerOf = async (exchange: Exchange): Promise<unknown> => {
    checkFraming(exchange.request)
    const body = await readBody(exchange.request)
    const caller = await authenticate(exchange, body)
    const request = parseJson(body)
    const method = findMethod(methods, request, caller)
    exchange.found.method = method.name
    return method.call(request, caller)
  }
  return (exchange: Exchange): Promise<void> =>
    withRequest({ request_id: exchange.request_id }, async () => {
      try {
        answerer.success(exchange, await answerOf(exchange))
      } catch (error) {
        if (!(error instanceof CallerGone)) return answerer.failure(exchange, error)
        log.info({ outcome: 'caller gone' }, 'a request ended before it was complete')
      }
    })
}
