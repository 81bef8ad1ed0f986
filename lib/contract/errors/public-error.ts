import { ERROR_TABLE, type ErrorCode } from './error-table.ts'

/** A plain JSON object for `details` or `context`: what a caller may see, so never a secret or bank data. */
export type ErrorInfo = Readonly<Record<string, unknown>>

/** What may be said beside the code. `http` overrides the table's status where the contract has two (E10, E13). */
export interface PublicErrorOptions {
  readonly details?: ErrorInfo
  readonly context?: ErrorInfo
  readonly http?: number
  readonly cause?: unknown
}

/**
 * An error meant for the caller: a code of the table with what the contract lets us say. Everything else that is
 * thrown is a fault inside, which a caller sees as 2001 and nothing more. The cause goes to the log only.
 */
export class PublicError extends Error {
  override readonly name = 'PublicError'
  readonly code: ErrorCode
  readonly details: ErrorInfo | undefined
  readonly context: ErrorInfo | undefined
  /** The HTTP status on the public routes. */
  readonly http: number

  constructor(code: ErrorCode, options: PublicErrorOptions = {}) {
    // A refusal is told by its code alone, and where it was made says nothing; taking the stack costs ten times the rest.
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

/** A 1005 or 9000 (or a specific code) about one field; `path` is the dotted path that the merchant sees (E4, E5). */
export function fieldError(code: ErrorCode, path: string): PublicError {
  return new PublicError(code, { details: { description: path } })
}
