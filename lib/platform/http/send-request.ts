import type { Dispatcher } from 'undici'
import { clock } from '#lib/platform/time.ts'
import { type FailureReason, HttpFailure, toFailureReason } from './http-failure.ts'

/** One request. */
export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod
  /** http or https, without user info. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Bounds the whole exchange, from the name look-up to the last byte of the answer (but see `body_grace_ms`). */
  readonly timeout_ms: number
  /** A larger body is the failure `too_large`; with `body_grace_ms` it is cut. 1 MiB unless given. */
  readonly response_max_bytes?: number
  /**
   * For callers to whom the status is the answer (N4): `timeout_ms` then ends with the complete header, the body may
   * take so much longer, and one that is late, too large or torn is cut (`truncated`) instead of a failure.
   */
  readonly body_grace_ms?: number
  /** Gives the exchange up; its fate is then that of a time-out at the same moment. */
  readonly signal?: AbortSignal
}

/** The answer. Header names are lower case; values that came repeatedly are joined by a comma. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly truncated: boolean
}

const RESPONSE_MAX_BYTES = 1024 * 1024

/** More interim answers (1xx) than any real server sends. */
const INTERIM_MAX = 16

/**
 * Runs one exchange on a dispatcher: the time, the sizes, and what is certain about a failure. It ends when `closing`
 * is aborted, as it does by the request's own signal.
 */
export function sendRequest(
  dispatcher: Dispatcher,
  url: URL,
  request: HttpRequest,
  closing: AbortSignal,
): Promise<HttpResponse> {
  const { body_grace_ms, response_max_bytes = RESPONSE_MAX_BYTES } = request
  const signals = request.signal === undefined ? [closing] : [closing, request.signal]
  return new Promise((resolve, reject) => {
    // Set by the transport right before it writes the first byte: until then nothing has left, whatever happens.
    let writing: Dispatcher.DispatchController | undefined
    let head: Pick<HttpResponse, 'status' | 'headers'> | undefined
    let settled = false
    let interim = 0
    let size = 0
    const chunks: Uint8Array[] = []

    const settle = (finish: () => void): void => {
      if (settled) return
      settled = true
      timer.cancel()
      for (const signal of signals) signal.removeEventListener('abort', abort)
      finish()
    }
    /** What is still under way is broken off. An exchange that ended has nothing to break off, and an error costs. */
    const abandon = (): void => writing?.abort(new Error('the exchange is over'))
    const answer = (truncated: boolean): void =>
      settle(() => {
        if (head) resolve({ ...head, body: Buffer.concat(chunks), truncated })
        if (truncated) abandon()
      })
    const fail = (reason: FailureReason, cause?: unknown): void =>
      settle(() => {
        reject(new HttpFailure(writing === undefined ? 'not_sent' : 'unknown', reason, cause))
        abandon()
      })
    /** Where the body does not matter, a header that is complete stands; else the whole exchange has failed. */
    const cut = (reason: FailureReason, cause?: unknown): void =>
      head !== undefined && body_grace_ms !== undefined ? answer(true) : fail(reason, cause)

    const late = (): void => cut(writing === undefined ? 'timeout_connect' : 'timeout')
    const abort = (): void => cut('aborted')
    let timer = clock.after(request.timeout_ms, late)
    for (const signal of signals) signal.addEventListener('abort', abort)
    if (signals.some((signal) => signal.aborted)) return abort()

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // Too late, or a second time on another connection: neither may be written.
        if (settled || writing !== undefined) controller.abort(new Error('must not be sent'))
        else writing = controller
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) {
          if (++interim > INTERIM_MAX) fail('bad_response')
          return
        }
        head = { status, headers: joinHeaders(headers) }
        if (body_grace_ms === undefined) return
        timer.cancel()
        timer = clock.after(body_grace_ms, late)
      },
      onResponseData(_controller, chunk) {
        if (settled) return
        chunks.push(chunk.subarray(0, response_max_bytes - size))
        size += chunk.length
        if (size > response_max_bytes) cut('too_large')
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_controller, error) => cut(toFailureReason(error, writing !== undefined), error),
    }
    dispatcher.dispatch(toDispatch(url, request), handler)
  })
}

function toDispatch(url: URL, { method, headers, body }: HttpRequest): Dispatcher.DispatchOptions {
  return {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { 'accept-encoding': 'identity', ...headers },
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
