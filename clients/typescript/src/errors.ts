import { RETRIES, type Retry } from './gen/tables.ts'

/** What all errors of this package extend. */
export class MultihubError extends Error {
  override readonly name: string = 'MultihubError'
  /** The key of the request that failed, given or generated; absent where its method has none. */
  operation_id?: string
}

/** The parts of a refusal. */
export interface Refusal {
  code: number
  message: string
  details: Record<string, unknown> | null
  context: Record<string, unknown> | null
  request_id: string
  http_status: number
}

/** A signed answer that says no. `retry` says what a program can do about it. */
export class RefusalError extends MultihubError {
  override readonly name = 'RefusalError'
  readonly code: number
  readonly details: Refusal['details']
  readonly context: Refusal['context']
  readonly request_id: string
  readonly http_status: number
  readonly retry: Retry

  constructor({ code, message, details, context, request_id, http_status }: Refusal) {
    const field = typeof details?.['description'] === 'string' ? ` (${details['description']})` : ''
    super(`${code}: ${message}${field}`)
    this.code = code
    this.details = details
    this.context = context
    this.request_id = request_id
    this.http_status = http_status
    this.retry = RETRIES[code] ?? 'never'
  }

  /** How long the answer asks to wait, in milliseconds. */
  get retry_after_ms(): number | undefined {
    const seconds = this.details?.['retry_after_seconds']
    return typeof seconds === 'number' ? seconds * 1000 : undefined
  }
}

/**
 * Why there is no answer that counts. `not_sent`: no connection was made, so the server has not acted. `credential` is an unsigned refusal of the signature or the application id: when it stays,
 * one of the two is wrong.
 */
export type TransportReason =
  | 'not_sent'
  | 'no_answer'
  | 'timeout'
  | 'credential'
  | 'unsigned'
  | 'too_large'
  | 'malformed'
  | 'other_request'

/**
 * No signed answer arrived. Whether the server has acted is not known, unless `reason` is `not_sent`. `text` is what arrived instead,
 * which proves nothing.
 */
export class TransportError extends MultihubError {
  override readonly name = 'TransportError'
  readonly reason: TransportReason
  readonly http_status: number | undefined
  readonly text: string | undefined

  constructor(
    reason: TransportReason,
    message: string,
    more: { http_status?: number; text?: string; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.reason = reason
    this.http_status = more.http_status
    this.text = more.text
  }
}

/**
 * No signed answer says whether the payment was created. It may exist. Call `createPayment` again later with the same
 * request and `resume: true`; never create it under another `c_id`.
 */
export class OutcomeUnknownError extends MultihubError {
  override readonly name = 'OutcomeUnknownError'
  readonly c_id: string

  constructor(c_id: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`the payment ${c_id} may exist; resume it under the same c_id: ${reason}`, { cause })
    this.c_id = c_id
  }
}

/** Why a callback was not accepted. */
export type CallbackReason = 'too_large' | 'missing_header' | 'signature' | 'timestamp' | 'malformed'

/** A request that is not a callback of Multihub, or not one of the last five minutes. */
export class CallbackError extends MultihubError {
  override readonly name = 'CallbackError'
  readonly reason: CallbackReason

  constructor(reason: CallbackReason, message: string) {
    super(message)
    this.reason = reason
  }
}
