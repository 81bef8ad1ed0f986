import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import diagnostics from 'node:diagnostics_channel'
import { RefusalError, TransportError } from './errors.ts'
import { parseJson } from './json.ts'
import {
  type Credential,
  PATHS,
  pairHeaders,
  type ReplayPair,
  signResend,
  signV1,
  signV2,
  verifyV1,
  verifyV2,
} from './signatures.ts'

/** How a client reaches Multihub. */
export interface TransportSettings extends Credential {
  base_url: string
  version: 'v1' | 'v2'
  /** The time for one answer. Creating a payment can take 35 seconds. */
  timeout_ms: number
  fetch: typeof fetch
}

/** The bytes of an answer, and what its signature covers besides them. */
export interface RawAnswer {
  http_status: number
  headers: Headers
  body: Uint8Array
}

/** What sends the requests unless the settings say otherwise. */
export const GLOBAL_FETCH: typeof fetch = (...call) => fetch(...call)

/** How often `fetch` has dispatched the request of the running exchange: it sends it again by itself after a 421. */
const dispatches = new AsyncLocalStorage<{ count: number }>()
const created = diagnostics.channel('undici:request:create')
created.subscribe(() => {
  const dispatched = dispatches.getStore()
  if (dispatched !== undefined) dispatched.count += 1
})

/** The largest answer that is read. */
export const ANSWER_MAX_BYTES = 16 * 1024 * 1024
const TEXT_MAX = 2_000
/** The refusals that the server does not sign, because it does not know whose secret to sign them with. */
const UNSIGNED_CODES = [3000, 3001, 3002, 3003]

/** What differs between signed requests. */
export interface SendOptions {
  resend_path?: string
  is_withdrawal?: boolean
  signal?: AbortSignal | undefined
}

/**
 * Sends one signed request and returns the `result` of the answer. The signature of the answer is verified before anything in
 * it is used. Throws `RefusalError` or `TransportError`.
 */
export async function sendSigned(
  settings: TransportSettings,
  body: Uint8Array,
  options: SendOptions = {},
): Promise<unknown> {
  const { resend_path, is_withdrawal = false, signal } = options
  const path = resend_path ?? PATHS[settings.version]
  const is_v2 = settings.version === 'v2'
  const pair: ReplayPair = {
    timestamp: String(Math.floor(Date.now() / 1000)),
    nonce: randomBytes(16).toString('hex'),
  }
  const signed = resend_path
    ? signResend(settings, path, body, pair)
    : is_v2
      ? signV2(settings, body, pair)
      : // The v1 hash does not cover the pair, but a withdrawal that is sent twice on the way is refused by its nonce.
        { ...signV1(settings, body), ...(is_withdrawal && pairHeaders(pair)) }
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json', ...signed }, body }
  const answer = await exchange(settings, settings.base_url + path, request, { signal })
  const text = new TextDecoder().decode(answer.body)
  const { http_status } = answer
  if (!isSigned(settings, answer, resend_path || !is_v2 ? undefined : pair.nonce))
    throw unsigned(text.slice(0, TEXT_MAX), http_status)
  return resultOf(text, http_status)
}

function unsigned(text: string, http_status: number): TransportError {
  let code: unknown
  try {
    code = Object(Object(parseJson(text)).error).code
  } catch {
    // Not an answer of Multihub.
  }
  const is_credential = UNSIGNED_CODES.some((one) => one === code)
  const hint = is_credential ? '; check the secret and the application id first' : ''
  const message = `HTTP ${http_status}: the answer is not signed with this secret${hint}: ${text}`
  return new TransportError(is_credential ? 'credential' : 'unsigned', message, { http_status, text })
}

/** Sends a request within the time limit and reads at most `max_bytes` of the answer. Throws `TransportError`. */
export async function exchange(
  settings: Pick<TransportSettings, 'fetch' | 'timeout_ms'>,
  url: string,
  request: RequestInit,
  { signal, max_bytes = ANSWER_MAX_BYTES }: { signal?: AbortSignal | undefined; max_bytes?: number } = {},
): Promise<RawAnswer> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  let is_late = false
  const timer = setTimeout(() => {
    is_late = true
    controller.abort()
  }, settings.timeout_ms)
  const stop = (): void => controller.abort()
  signal?.addEventListener('abort', stop)
  const dispatched = { count: 0 }
  try {
    // A redirect would send a signed request to an address that nobody configured.
    const options: RequestInit = { ...request, redirect: 'manual', signal: controller.signal }
    const response = await dispatches.run(dispatched, () => settings.fetch(url, options))
    return {
      http_status: response.status,
      headers: response.headers,
      body: await readBody(response, max_bytes),
    }
  } catch (error) {
    if (error instanceof TransportError) throw error
    signal?.throwIfAborted()
    if (is_late)
      throw new TransportError('timeout', `no answer within ${settings.timeout_ms} ms`, { cause: error })
    // Another fetch, or a second dispatch, may have sent it before.
    const is_first = settings.fetch === GLOBAL_FETCH && dispatched.count === 1
    const is_not_sent = is_first && isNotSent(Object(error))
    const reason = is_not_sent ? 'not_sent' : 'no_answer'
    throw new TransportError(reason, `no answer: ${reasonOf(error)}`, { cause: error })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
    controller.abort()
  }
}

/**
 * Whether no connection was made, so nothing was sent. The `fetch` of Node.js gives a TLS handshake 10 s; a shorter
 * limit of ours leaves open whether it had ended.
 */
function isNotSent({ cause }: { cause?: unknown }): boolean {
  if (cause instanceof AggregateError) return cause.errors.every((error) => isNotSent({ cause: error }))
  const { code, syscall } = Object(cause)
  return code === 'UND_ERR_CONNECT_TIMEOUT' || syscall === 'connect' || syscall === 'getaddrinfo'
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

async function readBody(response: Response, max_bytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = response.body?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > max_bytes)
      throw new TransportError('too_large', `the answer has more than ${max_bytes} bytes`)
    chunks.push(value)
  }
  return Buffer.concat(chunks)
}

/** On v1 and the resend path the signature covers the body; on v2 (with a nonce) also the request and the HTTP status. */
function isSigned(
  settings: TransportSettings,
  answer: RawAnswer,
  request_nonce: string | undefined,
): boolean {
  const { http_status, headers, body } = answer
  if (request_nonce === undefined) return verifyV1(settings.secret, body, headers.get('X-Data-Hash') ?? '')
  const request_id = headers.get('X-Request-ID') ?? ''
  const covered = { request_nonce, request_id, http_status, body }
  return verifyV2(settings, covered, headers.get('X-Data-Signature') ?? '')
}

function resultOf(text: string, http_status: number): unknown {
  const malformed = (): TransportError =>
    new TransportError('malformed', `HTTP ${http_status}: the answer is not an envelope`, {
      http_status,
      text,
    })
  let envelope: Record<string, unknown>
  try {
    envelope = Object(parseJson(text))
  } catch {
    throw malformed()
  }
  if (envelope['success'] === true) return envelope['result']
  const error = Object(envelope['error'])
  if (envelope['success'] !== false || typeof error.code !== 'number') throw malformed()
  const { code, message, details = null, context = null } = error
  const request_id = String(envelope['request_id'])
  throw new RefusalError({ code, message: String(message), details, context, request_id, http_status })
}
