import { ERROR_TABLE, type ErrorCode } from './error-table.ts'

/** A JSON object for `details` or `context`. The caller sees it, so it never holds a secret or bank data. */
export type ErrorInfo = Readonly<Record<string, unknown>>

/** The optional parts of an error. `http` overrides the status of the table where the contract has two (E10, E13). */
export interface PublicErrorOptions {
  readonly details?: ErrorInfo | undefined
  readonly context?: ErrorInfo | undefined
  readonly http?: number | undefined
  readonly cause?: unknown
}

/**
 * An error that the caller sees: a code of the table and the details that the contract allows. `toPublicError` converts
 * every other thrown value: an `Unavailable` to 2002, a fault to 2001. The cause is logged and never sent.
 */
export class PublicError extends Error {
  override readonly name = 'PublicError'
  readonly code: ErrorCode
  readonly details: ErrorInfo | undefined
  readonly context: ErrorInfo | undefined
  /** The HTTP status on the public paths. */
  readonly http: number

  constructor(code: ErrorCode, options: PublicErrorOptions = {}) {
    // The code alone explains a refusal, and capturing the stack costs ten times as much as the rest of the error.
    const { stackTraceLimit } = Error
    if (options.cause === undefined) Error.stackTraceLimit = 0
    super(ERROR_TABLE[code].message, options.cause === undefined ? undefined : { cause: options.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.details = options.details
    this.context = options.context
    this.http = options.http ?? ERROR_TABLE[code].http
  }
}

/**
 * An error about one field: 1005, 9000 or a specific code. `path` is its dotted path in the request (E4, E5). `reason`
 * states what the field may hold instead.
 */
export function fieldError(code: ErrorCode, path: string, reason?: string): PublicError {
  return new PublicError(code, { details: { description: path, ...(reason !== undefined && { reason }) } })
}
