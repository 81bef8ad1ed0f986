import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  CALLBACK_MAX_BYTES,
  type CallbackHeaders,
  type CallbackSettings,
  checkSecrets,
  verifyCallback,
} from './callbacks.ts'
import { CallbackError } from './errors.ts'
import type { Callback } from './gen/types.ts'

/**
 * Stores a verified callback; `raw` are its exact bytes. When it throws, the answer is 500, and Multihub sends the callback
 * again.
 */
export type CallbackHandler = (callback: Callback, raw: Uint8Array) => void | Promise<void>

/** What a receiver of callbacks needs. */
export interface ReceiverSettings extends CallbackSettings {
  /** Reports each error that is not a wrong callback, such as one of the handler. Without it `console.error` does. */
  on_error?: ((error: unknown) => void) | undefined
}

const READ_MS = 30_000

/**
 * A listener for `http.createServer`, and a handler for Express: `app.post('/callbacks', callbackListener(...))`. With Express
 * it must come before `express.json()`, or after `express.raw({ type: '*\/*', limit: '256kb' })`, because the exact bytes are signed.
 */
export function callbackListener(
  settings: ReceiverSettings,
  handle: CallbackHandler,
): (request: IncomingMessage & { body?: unknown }, response: ServerResponse) => void {
  checkSecrets(settings.secrets)
  return (request, response) => {
    const answer = async (): Promise<void> => {
      const { body } = request
      if (body !== undefined && !(body instanceof Uint8Array)) {
        const message = 'callbackListener must come before the parser of bodies'
        report(settings, new TypeError(message))
        response.writeHead(500).end(message)
        return
      }
      const raw = body ?? (await readBody(request))
      response.writeHead(await statusOf(settings, handle, request.headers, raw)).end()
    }
    // The connection broke in the middle of the body: Multihub sends the callback again.
    answer().catch(() => response.destroy())
  }
}

/** The part of Fastify that the plugin uses. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: unknown, body: Buffer, done: (error: null, body: Buffer) => void) => void,
  ): unknown
  post(
    path: string,
    handler: (
      request: { headers: IncomingMessage['headers']; body: unknown },
      reply: { code(status: number): { send(): unknown } },
    ) => Promise<unknown>,
  ): unknown
}

/** A plugin for Fastify: `app.register(fastifyCallbacks(...), { prefix: '/callbacks' })`. Other routes keep their parsers. */
export function fastifyCallbacks(
  settings: ReceiverSettings,
  handle: CallbackHandler,
): (fastify: FastifyLike) => Promise<void> {
  checkSecrets(settings.secrets)
  return async (fastify) => {
    fastify.removeAllContentTypeParsers()
    const options = { parseAs: 'buffer', bodyLimit: CALLBACK_MAX_BYTES } as const
    fastify.addContentTypeParser('*', options, (_, body, done) => done(null, body))
    fastify.post('/', async ({ headers, body }, reply) =>
      reply.code(await statusOf(settings, handle, headers, body as Buffer)).send(),
    )
  }
}

/** Verifies a callback and hands it over. Returns the HTTP status of the response. */
async function statusOf(
  settings: ReceiverSettings,
  handle: CallbackHandler,
  headers: CallbackHeaders,
  raw: Uint8Array | undefined,
): Promise<number> {
  if (raw === undefined) return 413
  let callback: Callback
  try {
    callback = verifyCallback(headers, raw, settings)
  } catch (error) {
    if (!(error instanceof CallbackError)) {
      report(settings, error)
      return 500
    }
    if (error.reason === 'too_large') return 413
    return error.reason === 'malformed' ? 400 : 401
  }
  try {
    await handle(callback, raw)
    return 204
  } catch (error) {
    report(settings, error)
    return 500
  }
}

function report({ on_error = console.error }: ReceiverSettings, error: unknown): void {
  on_error(error)
}

/** Reads the body within a time limit, but keeps no more of it than the largest callback has. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const timer = setTimeout(() => request.destroy(), READ_MS)
  try {
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of request) {
      length += chunk.length
      if (length <= CALLBACK_MAX_BYTES) chunks.push(chunk)
    }
    return length <= CALLBACK_MAX_BYTES ? Buffer.concat(chunks) : undefined
  } finally {
    clearTimeout(timer)
  }
}
