import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { withRequest } from '#lib/base/context.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { supportResourceOf } from '#lib/contract/methods.ts'
import { type ConnectionLimit, createConnectionLimit, peerOf } from '#lib/http/connection-limit.ts'
import { networkOf } from '#lib/http/network-of.ts'
import { clientAddress, type ProxyWatch } from '#lib/http/trusted-proxies.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { inCallSlot, waitOutside } from '#lib/telemetry/call-slots.ts'
import { inSpan } from '#lib/telemetry/span.ts'
import {
  type AuthenticationDeps,
  createRequestAuthenticator,
  isAuthenticationFailure,
} from './auth/authenticate.ts'
import type { Caller } from './auth/credential.ts'
import { resendScheme, type SignatureScheme, V2_SCHEME, v1Scheme } from './auth/signature-schemes.ts'
import type { ExchangeRecorder } from './exchanges/exchange-recorder.ts'
import { type BodyMemoryBudget, createBodyMemoryBudget } from './http/body-memory.ts'
import { beginObservation, type Exchange, REQUEST_SPAN } from './http/exchange.ts'
import { createExchangeLog } from './http/exchange-log.ts'
import { HTTP_LIMITS } from './http/http-limits.ts'
import { type PublicFile, publicFilePath } from './http/public-file.ts'
import { RequestAborted, readBody } from './http/request-body.ts'
import { checkJsonRequestHead } from './http/request-head.ts'
import { createResponder } from './http/response.ts'
import { createServer, type PublicPath } from './http/server.ts'
import type { JsonObject } from './json/parse-json.ts'
import type { FloodLimiter } from './limits/flood-limiter.ts'
import type { Limits } from './limits/limits.ts'
import type { MerchantRequests } from './limits/merchant-requests.ts'
import {
  checkScope,
  enabledMethod,
  findMethod,
  type Method,
  type MethodTable,
  parseRequest,
} from './methods/method.ts'
import { RESEND_TARGET, resendPath, V1_PATH, V1_TARGET, V2_PATH, V2_TARGET } from './paths.ts'
import { downloadPath } from './transfers/download-path.ts'
import { createOpenTransfer, type TransferDeps } from './transfers/open-transfer.ts'
import { uploadPath } from './transfers/upload-path.ts'

/** What the gateway needs. */
export interface GatewayDeps extends AuthenticationDeps, Pick<TransferDeps, 'keys' | 'sendToAttachments'> {
  /** How far the timestamp of a v1 or resend request may differ from the clock (A3). */
  readonly v1_window_ms: number
  readonly methods: MethodTable
  /** The method of the resend path. */
  readonly resend: Method
  readonly limits: Limits
  readonly flood: FloodLimiter
  readonly merchant_requests: MerchantRequests
  readonly proxy_watch: Pick<ProxyWatch, 'observe'>
  /** Takes note of each request that was answered. */
  readonly exchange_recorder: Pick<ExchangeRecorder, 'record'>
  /** The files of the API reference; without them their paths do not exist. */
  readonly files?: readonly PublicFile[]
  /** `false` until the registry is read for the first time, and again from the start of shutdown. */
  readonly isServing: () => boolean
}

/** A public path that serves methods, with its signature scheme. */
interface MethodPath extends Omit<PublicPath, 'serve'> {
  readonly scheme: SignatureScheme
  readonly methodOf: (request: JsonObject, caller: Caller) => Method
  /** The id in the path, exactly as it was sent. */
  readonly pathId?: (request: IncomingMessage) => string | undefined
}

/** What the requests of all public paths share. */
interface SharedCapacity {
  readonly connections: ConnectionLimit
  readonly body_memory: BodyMemoryBudget
}

/** Makes the gateway as a Fastify application that is not listening yet. */
export function createGateway(deps: GatewayDeps): FastifyInstance {
  const { methods, resend, v1_window_ms, log, isServing } = deps
  const methodOf = (request: JsonObject, caller: Caller): Method => findMethod(methods, request, caller)
  const method_paths: readonly MethodPath[] = [
    { path: V1_PATH, target: V1_TARGET, scheme: v1Scheme(v1_window_ms), methodOf },
    { path: V2_PATH, target: V2_TARGET, scheme: V2_SCHEME, methodOf },
    {
      path: resendPath(':payment_id'),
      target: RESEND_TARGET,
      scheme: resendScheme(v1_window_ms),
      methodOf: (_request, caller) => enabledMethod(resend, caller),
      pathId: ({ url = '' }) => RESEND_TARGET.exec(url)?.[1],
    },
  ]
  const exchange_log = createExchangeLog(log, deps.trusted_proxies)
  const responder = createResponder(exchange_log)
  const capacity: SharedCapacity = {
    connections: createConnectionLimit('gateway', HTTP_LIMITS, deps.trusted_proxies),
    body_memory: createBodyMemoryBudget(),
  }
  const served_paths = method_paths.map((method_path): PublicPath => {
    const handle = createPipeline(method_path, capacity, deps)
    const { path, target } = method_path
    return {
      path,
      target,
      serve: async (exchange) => responder.sendSuccess(exchange, await handle(exchange)),
    }
  })
  const transfer_deps: TransferDeps = { ...deps, connections: capacity.connections, responder, exchange_log }
  const openTransfer = createOpenTransfer(transfer_deps)
  const transfer_paths = [uploadPath(transfer_deps, openTransfer), downloadPath(transfer_deps, openTransfer)]
  const file_paths = (deps.files ?? []).map(publicFilePath)
  // Around each path: the context and the span of the request, and the response to an error that was thrown.
  const inRequestScope = ({ serve, ...public_path }: PublicPath): PublicPath => ({
    ...public_path,
    serve: (exchange) =>
      withRequest({ request_id: exchange.request_id }, () =>
        inSpan(REQUEST_SPAN, async (span) => {
          const endObservation = beginObservation(exchange, span)
          deps.proxy_watch.observe(exchange.request)
          try {
            await serve(exchange)
          } catch (error) {
            if (!(error instanceof RequestAborted))
              return responder.sendFailure(exchange, errorToSend(exchange, error, deps))
            exchange_log.logAborted(exchange)
          } finally {
            endObservation()
            deps.exchange_recorder.record(exchange)
          }
        }),
      ),
  })
  const app = createServer({
    paths: [...served_paths, ...transfer_paths, ...file_paths].map(inRequestScope),
    responder,
    log,
    exchange_log,
    isServing,
  })
  capacity.connections.attach(app.server)
  return app
}

/** Makes the steps of A1 for one public path, in their order. Each step refuses by throwing. */
function createPipeline(
  { scheme, methodOf, pathId }: MethodPath,
  { connections, body_memory }: SharedCapacity,
  deps: GatewayDeps,
) {
  const authenticate = createRequestAuthenticator(deps, scheme)
  const { limits, merchant_requests, trusted_proxies } = deps
  // A function of its own, so that the bytes of the body are collectable while the method waits for other services.
  const readAndAuthenticate = async (exchange: Exchange) => {
    const { request, context } = exchange
    const callerNetwork = (): string => networkOf(clientAddress(request, trusted_proxies))
    const reservation = body_memory.openReservation({
      networkOf: callerNetwork,
      isAuthenticated: () => context.sign !== undefined,
    })
    try {
      const body = await waitOutside(() => readBody(exchange, reservation))
      const caller = await authenticate(exchange, body)
      connections.markAuthenticated(peerOf(request.socket))
      body_memory.markProven(callerNetwork())
      await limits.useDailyLimit(caller)
      return { caller, request: parseRequest(body()) }
    } finally {
      reservation.release()
    }
  }
  const handle = async (exchange: Exchange): Promise<unknown> => {
    checkJsonRequestHead(exchange.request)
    const { caller, request } = await readAndAuthenticate(exchange)
    const method = methodOf(request, caller)
    exchange.context.method = method.name
    checkScope(method, caller)
    await limits.useMethodQuota(method.name, caller)
    const endRequest = merchant_requests.begin(caller, method.is_read)
    try {
      return await method.call(request, caller, {
        path_id: pathId?.(exchange.request),
        isAbout(payment) {
          exchange.context.payment = payment
        },
      })
    } finally {
      endRequest()
    }
  }
  return (exchange: Exchange) => inCallSlot('public', () => handle(exchange))
}

/**
 * The error to respond with. For a support method, 2002 becomes HTTP 503 (E13). Failed authentications are counted per
 * network, and too many become 429 (E10); the counter is never read for a caller whose signature was verified.
 */
function errorToSend(
  { request, context }: Exchange,
  error: unknown,
  { flood, trusted_proxies }: GatewayDeps,
): unknown {
  if (context.method !== undefined && supportResourceOf(context.method) !== undefined) {
    const shown = toPublicError(error)
    return shown.code === 2002 ? new PublicError(2002, { cause: shown.cause, http: 503 }) : error
  }
  if (context.sign !== undefined || !isAuthenticationFailure(error)) return error
  return flood.recordFailure(clientAddress(request, trusted_proxies)) ?? error
}
