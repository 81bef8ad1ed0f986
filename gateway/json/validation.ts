import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'

/** An unknown key is the caller's own text, so an error shows at most this many of its code points. */
const SHOWN_KEY_MAX = 64

/** What the rules of a schema depend on besides the request itself. */
export interface ValidationContext {
  /** The environment that the request acts in: some rules are stricter in production. */
  readonly environment: Environment
  /** Whether callbacks may be sent to a URL (N9); the settings of the process decide. */
  readonly acceptsCallbackUrl: (url: string, environment: Environment) => boolean
}

/**
 * The validation of one request, which reads its fields in the order of the schema. It keeps the one fault that the
 * caller gets (E6): the first 1005, else the first 9000, else the first specific code.
 */
export interface Validation {
  readonly context: ValidationContext
  /** The keys from the top of the request down to the current value. */
  readonly path: string[]
  content_fault: PublicError | undefined
  specific_fault: PublicError | undefined
}

/** Begins the validation of one request. */
export function beginValidation(context: ValidationContext): Validation {
  return { context, path: [], content_fault: undefined, specific_fault: undefined }
}

/** Records a fault of the current value. A 1005 is thrown at once, because no other fault takes precedence over it. */
export function report(validation: Validation, code: ErrorCode): undefined {
  const path = validation.path.join('.')
  if (code === 1005) throw fieldError(code, path)
  if (code === 9000) validation.content_fault ??= fieldError(code, path)
  else validation.specific_fault ??= fieldError(code, path)
  return undefined
}

/** Records a fault of a field of the current object. */
export function reportField(validation: Validation, key: string, code: ErrorCode): void {
  validation.path.push(shownKey(key))
  report(validation, code)
  validation.path.pop()
}

/** Lone surrogates are replaced, because strict parsers would refuse the response. */
function shownKey(key: string): string {
  if (key.length <= SHOWN_KEY_MAX) return key.toWellFormed()
  const start = [...key.slice(0, 2 * SHOWN_KEY_MAX)].slice(0, SHOWN_KEY_MAX)
  return start.join('').toWellFormed()
}
