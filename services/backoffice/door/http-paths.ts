import type { IncomingMessage, ServerResponse } from 'node:http'
import { Code, createContextValues } from '@connectrpc/connect'
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect'
import type { RouteHandlerMethod } from 'fastify'
import { withRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { type ConnectionLimit, peerOf } from '#lib/http/connection-limit.ts'
import { authorizationOf } from '#lib/rpc/credentials.ts'
import { RpcStatusError, toCallerError } from '#lib/rpc/errors.ts'
import { connection_caller_key, peer_key } from '#lib/rpc/server/connect-listener.ts'
import { type CallHead, requestContextOf } from '#lib/rpc/server/incoming.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ReadHeader } from '../sessions/site.ts'
import type { CallerHead } from './authenticate.ts'
import type { CallerAddresses } from './caller-address.ts'

/** A request for a path that is not an RPC, and its response. */
export interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly header: ReadHeader
  readonly caller: CallerHead
  /** The head of the request in the form that RPCs have. */
  readonly head: CallHead
  /** The variable parts of the path. */
  readonly parameters: Readonly<Record<string, string>>
  readonly url: URL
}

/** A path of the back office that is not an RPC. `serve` sends the response, or throws the refusal as an RPC would. */
export interface HttpPath {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  serve(exchange: HttpExchange): Promise<void>
}

/** Creates the handler of a path. A refusal is JSON with `code` and `message`, as the Connect protocol has it. */
export function createPathHandler(
  path: HttpPath,
  connections: Pick<ConnectionLimit, 'markAuthenticated'>,
  addressOf: CallerAddresses['addressOf'],
): RouteHandlerMethod {
  return ({ raw: request, params }, reply) => {
    reply.hijack()
    const { raw: response } = reply
    const exchange = exchangeOf(request, response, params as Record<string, string>, addressOf)
    const context = requestContextOf(exchange.head, undefined, clock.monotonic_ms())
    const serve = async (): Promise<void> => {
      try {
        await path.serve(exchange)
        const { values } = exchange.head
        const caller = values?.get(connection_caller_key)
        if (caller !== undefined) connections.markAuthenticated(peerOf(request.socket), caller)
      } catch (error) {
        refuse(response, error)
      }
    }
    void withRequest(context, serve)
  }
}

function exchangeOf(
  request: IncomingMessage,
  response: ServerResponse,
  parameters: Readonly<Record<string, string>>,
  addressOf: CallerAddresses['addressOf'],
): HttpExchange {
  const header = (name: string): string | undefined => {
    const value = request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }
  const authorization = authorizationOf(request.rawHeaders)
  const peer = peerOf(request.socket)
  return {
    request,
    response,
    header,
    caller: { authorization, header, address: addressOf(peer, header) },
    parameters,
    url: new URL(request.url ?? '/', 'http://backoffice'),
    head: {
      protocol: 'http',
      caller: { authorization, certificate: () => undefined },
      header,
      headers: () =>
        new Headers(
          Object.keys(request.headers).flatMap((name) => {
            const value = header(name)
            return value === undefined ? [] : [[name, value] as [string, string]]
          }),
        ),
      timeout_ms: undefined,
      values: createContextValues().set(peer_key, peer),
      onCancelled: (listener) => void response.once('close', listener),
    },
  }
}

/** Sends the refusal of a request. A response that has begun is cut off, so that nobody takes it for complete. */
function refuse(response: ServerResponse, error: unknown): void {
  const refusal = toCallerError(error)
  const is_fault = refusal.code === Code.Internal || refusal.code === Code.Unavailable
  log[is_fault ? 'error' : 'debug']({ error, part: 'backoffice' }, 'a request to the back office was refused')
  if (response.headersSent) return void response.destroy()
  response.writeHead(codeToHttpStatus(refusal.code), {
    'content-type': 'application/json',
    'cache-control': 'no-store',
  })
  // Closing the connection with unread bytes would reset it, and the reset can destroy the response.
  if (!response.req.complete) response.req.resume()
  response.end(errorToJsonBytes(refusal, undefined))
}

/** Sends JSON, which no cache keeps. */
export function sendJson(
  response: ServerResponse,
  value: object,
  { status = 200, cookies = [] }: { readonly status?: number; readonly cookies?: readonly string[] } = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }),
  })
  response.end(JSON.stringify(value))
}

const JSON_MAX_BYTES = 16 * 1024
const JSON_TYPE = /^application\/json(?:;|$)/i

/** The text fields of a short JSON body. Throws INVALID_ARGUMENT for anything else, or for a field that is not in `names`. */
export async function readFields<const Name extends string>(
  { request, header }: HttpExchange,
  names: readonly Name[],
): Promise<{ readonly [N in Name]?: string }> {
  // A form of another site cannot send this type.
  if (!JSON_TYPE.test(header('content-type') ?? '')) throw wrongBody('the Content-Type is application/json')
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > JSON_MAX_BYTES) throw wrongBody(`the body has at most ${JSON_MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  const body = parse(Buffer.concat(chunks).toString())
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw wrongBody('the body is a JSON object')
  for (const [name, value] of Object.entries(body)) {
    if (!names.some((known) => known === name)) throw wrongBody(`the request has an unknown field: ${name}`)
    if (typeof value !== 'string') throw wrongBody(`${name} is a text`)
  }
  return body
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function wrongBody(reason: string): RpcStatusError {
  return new RpcStatusError(Code.InvalidArgument, reason)
}
