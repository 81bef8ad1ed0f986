import type { Dispatcher } from 'undici'
import { clock, withTimeout } from '#lib/base/time.ts'
import type { AddressPolicy } from './address-policy.ts'
import {
  type Connection,
  createConnect,
  createOpenConnection,
  HEADER_MAX_BYTES,
  type OpenConnection,
} from './connect.ts'
import { createConnectionPool } from './connection-pool.ts'
import { type FailureReason, HttpFailure, toFailureReason } from './http-failure.ts'
import { simulatedNetwork } from './network.ts'
import { createHostResolver, type ResolveHost } from './resolve-host.ts'

/** A request and its limits. */
export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod
  /** An http or https URL without user info. */
  readonly url: string
  /** Makes the headers. Called when a connection is available, so that the times of signatures are fresh. */
  readonly createHeaders?: () => Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Limits the whole request, up to the last byte of the response (but see the two fields below). */
  readonly timeout_ms: number
  /**
   * How long the request waits while all connections to its origin are in use. `timeout_ms` then begins with the name
   * lookup or the use of a kept connection. Unless given, the wait is part of `timeout_ms`.
   */
  readonly connection_wait_ms?: number
  /**
   * The receiver accepts a repetition. When a kept connection breaks before a response, because the receiver has closed it
   * meanwhile, the request is sent once more over a new one, with new headers and time limits.
   */
  readonly is_repeatable?: boolean
  /** A larger response body is the failure `too_large`; with `body_grace_ms` it is cut. 1 MiB unless given. */
  readonly response_max_bytes?: number
  /** Only this much of the response body is returned; the rest is read and dropped. All of it unless given. */
  readonly response_kept_bytes?: number
  /**
   * For callers that need the status only (N4). `timeout_ms` then limits the time to the complete header, and the body
   * has this much longer. A body that is late, too large or incomplete is cut (`truncated`) and is not a failure.
   */
  readonly body_grace_ms?: number
  /** Aborts the request. It then fails like a timeout at that moment, with the reason `aborted`. */
  readonly signal?: AbortSignal
}

/** A response. Header names are lower case; the values of a repeated header are joined by a comma. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly truncated: boolean
}

const RESPONSE_MAX_BYTES = 1024 * 1024

/** No real server sends more interim responses (1xx) than this. */
const INTERIM_MAX = 16

/** What the largest headers take on the wire, and how many bytes of it a byte of the body can take in small chunks. */
const HEADERS_READ_MAX_BYTES = (INTERIM_MAX + 1) * HEADER_MAX_BYTES
const READ_PER_BODY_BYTE = 8

/**
 * Sends one request over a connection that is its own: applies the time and size limits, and decides whether a failure is
 * `not_sent` or `unknown`. Each of `signals` aborts it.
 */
export function sendRequest(
  connection: Pick<Connection, 'dispatch'>,
  url: URL,
  request: HttpRequest,
  timeout_ms: number,
  signals: readonly AbortSignal[],
): Promise<HttpResponse> {
  const { body_grace_ms, response_max_bytes = RESPONSE_MAX_BYTES } = request
  const kept_bytes = Math.min(request.response_kept_bytes ?? response_max_bytes, response_max_bytes)
  const dispatched = toDispatch(url, request)
  return new Promise((resolve, reject) => {
    // Set right before the transport writes the first byte. While it is undefined, no byte can have been sent.
    let controller_of_write: Dispatcher.DispatchController | undefined
    let response_head: Pick<HttpResponse, 'status' | 'headers'> | undefined
    let is_settled = false
    let interim_count = 0
    let size = 0
    const chunks: Uint8Array[] = []

    const settle = (finish: () => void): void => {
      if (is_settled) return
      is_settled = true
      timer.cancel()
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
      finish()
    }
    /** Aborts the transport. A completed request is not aborted: creating the error costs time. */
    const abortTransport = (): void => controller_of_write?.abort(new Error('the request has ended'))
    const succeed = (truncated: boolean): void =>
      settle(() => {
        if (response_head) resolve({ ...response_head, body: Buffer.concat(chunks), truncated })
        if (truncated) abortTransport()
      })
    const fail = (reason: FailureReason, cause?: unknown): void =>
      settle(() => {
        reject(new HttpFailure(controller_of_write === undefined ? 'not_sent' : 'unknown', reason, cause))
        abortTransport()
      })
    /** Succeeds with what was read if the header is complete and the body may be cut; otherwise fails. */
    const cutOrFail = (reason: FailureReason, cause?: unknown): void =>
      response_head !== undefined && body_grace_ms !== undefined ? succeed(true) : fail(reason, cause)

    const onTimeout = (): void => cutOrFail(controller_of_write === undefined ? 'timeout_connect' : 'timeout')
    const onAbort = (): void => cutOrFail('aborted')
    let timer = clock.after(timeout_ms, onTimeout)
    for (const signal of signals) signal.addEventListener('abort', onAbort)
    if (signals.some((signal) => signal.aborted)) return onAbort()

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // The request has already failed, or this would be a second try on another connection.
        if (is_settled || controller_of_write !== undefined)
          controller.abort(new Error('the request must not be sent'))
        else controller_of_write = controller
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) {
          interim_count += 1
          if (interim_count > INTERIM_MAX) fail('bad_response')
          return
        }
        response_head = { status, headers: joinHeaders(headers) }
        if (body_grace_ms === undefined) return
        timer.cancel()
        timer = clock.after(body_grace_ms, onTimeout)
      },
      onResponseData(_controller, chunk) {
        if (is_settled) return
        if (size < kept_bytes) chunks.push(firstBytes(chunk, kept_bytes - size))
        size += chunk.length
        if (size > response_max_bytes) cutOrFail('too_large')
      },
      onResponseEnd: () => succeed(false),
      onResponseError: (_controller, error) =>
        cutOrFail(toFailureReason(error, controller_of_write !== undefined), error),
    }
    connection.dispatch(dispatched, handler, HEADERS_READ_MAX_BYTES + READ_PER_BODY_BYTE * response_max_bytes)
  })
}

/** A part is copied, so that the whole chunk is not kept in memory with it. */
function firstBytes(chunk: Uint8Array, count: number): Uint8Array {
  return chunk.length <= count ? chunk : Uint8Array.prototype.slice.call(chunk, 0, count)
}

function toDispatch(url: URL, { method, createHeaders, body }: HttpRequest): Dispatcher.DispatchOptions {
  return {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { 'accept-encoding': 'identity', ...createHeaders?.() },
    body: body === undefined ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  }
}

function joinHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : `${value ?? ''}`,
    ]),
  )
}

/** The policy and the limits of a client. */
export interface HttpClientOptions {
  /** Which IP addresses may be connected to, for every host name. */
  readonly allow: AddressPolicy
  /** Connections to one origin; further requests wait for one. 64 unless given. */
  readonly connections_per_origin?: number
  /** Requests to all origins; a request beyond it fails at once as `busy`. 10,000 unless given. */
  readonly in_progress_max?: number
  /** Limits the lookup, the connection and the TLS handshake together. 0: only the time limit of the request. */
  readonly connect_timeout_ms?: number
  /** How long an idle connection stays open for the next request; 0 closes it at once. At most 10 s. */
  readonly keep_alive_ms?: number
  readonly resolve?: ResolveHost
}

/** The only way by which this system sends HTTP requests. */
export type HttpClient = ReturnType<typeof createHttpClient>

/** No connection lives longer, so that changes of DNS and of the address policy take effect. */
const CONNECTION_LIFE_MAX_MS = 10_000
const CLOSE_TIMEOUT_MS = 2_000

/**
 * Makes a client for destinations that are not trusted. It speaks HTTP/1.1 only. It follows no redirect, decompresses
 * nothing, repeats only what it may, and ignores proxy settings in the environment.
 */
export function createHttpClient(options: HttpClientOptions) {
  const { in_progress_max = 10_000 } = options
  const connections = createConnectionPool({
    open: simulatedConnection() ?? realConnection(options),
    connections_per_origin: options.connections_per_origin ?? 64,
    life_ms: CONNECTION_LIFE_MAX_MS,
  })
  const closing = new AbortController()
  const in_progress = new Set<Promise<unknown>>()

  async function send(url: URL, request: HttpRequest, kind: 'any' | 'new' = 'any'): Promise<HttpResponse> {
    const { timeout_ms, connection_wait_ms, signal, is_repeatable } = request
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal]
    const began_ms = clock.monotonic_ms()
    const connection = await connections.acquire(url.origin, connection_wait_ms ?? timeout_ms, signals, kind)
    const waited_ms = connection_wait_ms === undefined ? clock.monotonic_ms() - began_ms : 0
    let reusable = false
    try {
      const response = await sendRequest(connection, url, request, timeout_ms - waited_ms, signals)
      reusable = !response.truncated
      return response
    } catch (error) {
      const is_stale = connection.was_kept && error instanceof HttpFailure && error.reason === 'reset'
      if (!is_repeatable || kind === 'new' || !is_stale) throw error
    } finally {
      connection.release(reusable)
    }
    return await send(url, request, 'new')
  }

  return {
    /**
     * Sends a request at most once, or twice if it `is_repeatable`; see `HttpRequest` for the limits. Throws `HttpFailure`,
     * or what `createHeaders` throws.
     */
    async request(request: HttpRequest): Promise<HttpResponse> {
      const url = URL.parse(request.url)
      if (url === null || !isHttpWithoutUserInfo(url)) throw new HttpFailure('not_sent', 'bad_request')
      if (in_progress.size >= in_progress_max) throw new HttpFailure('not_sent', 'busy')
      const response = send(url, request)
      in_progress.add(response)
      try {
        return await response
      } finally {
        in_progress.delete(response)
      }
    },
    /** Waits up to 2 s for running requests, then closes every connection. */
    async close(): Promise<void> {
      await withTimeout(Promise.allSettled(in_progress), CLOSE_TIMEOUT_MS)
      closing.abort()
      await connections.close()
    },
  }
}

function realConnection(options: HttpClientOptions): OpenConnection {
  const { connect_timeout_ms = 5_000, keep_alive_ms = 4_000 } = options
  const connect = createConnect(options.allow, options.resolve ?? createHostResolver(), connect_timeout_ms)
  return createOpenConnection(connect, { keep_alive_ms, life_ms: CONNECTION_LIFE_MAX_MS })
}

/** The connections of simulation, which share one network in memory. */
function simulatedConnection(): OpenConnection | undefined {
  const dispatcher = simulatedNetwork()?.createDispatcher()
  return dispatcher && (() => dispatcher)
}

function isHttpWithoutUserInfo({ protocol, username, password }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}
