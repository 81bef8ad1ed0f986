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
  /** Whether the host of an accepted callback URL has no address that is refused (N9). It asks name servers. */
  readonly acceptsCallbackHost: (url: string, environment: Environment) => Promise<boolean>
}

/** A check of a value that has to wait. When it resolves to `false`, the value is a 9000 at `path`. */
interface DeferredCheck {
  readonly path: string
  readonly accepts: () => Promise<boolean>
}

/**
 * The validation of one request, which reads its fields in the order of the schema. It keeps the one violation that the
 * caller gets (E6): the first 1005, else the first 9000, else the first specific code.
 */
export interface Validation {
  readonly context: ValidationContext
  /** The keys from the top of the request down to the current value. */
  readonly path: string[]
  content_violation: PublicError | undefined
  specific_violation: PublicError | undefined
  /** Checks that have to wait, in the order of their values. */
  deferred: DeferredCheck[] | undefined
}

/** Begins the validation of one request. */
export function beginValidation(context: ValidationContext): Validation {
  return {
    context,
    path: [],
    content_violation: undefined,
    specific_violation: undefined,
    deferred: undefined,
  }
}

/** Adds a check of the current value that has to wait. It begins only if no other violation would be reported first. */
export function defer(validation: Validation, accepts: () => Promise<boolean>): void {
  validation.deferred ??= []
  validation.deferred.push({ path: validation.path.join('.'), accepts })
}

/** Runs the deferred checks together. Resolves with the 9000 of the first check that fails, if any does. */
export async function runDeferred(deferred: readonly DeferredCheck[]): Promise<PublicError | undefined> {
  const results = await Promise.all(deferred.map(({ accepts }) => accepts()))
  const failed = deferred[results.indexOf(false)]
  return failed && fieldError(9000, failed.path)
}

/**
 * Records a violation of the current value. A 1005 is thrown at once, because no other violation takes precedence over
 * it.
 */
export function report(validation: Validation, code: ErrorCode): undefined {
  const path = validation.path.join('.')
  if (code === 1005) throw fieldError(code, path)
  if (code === 9000) validation.content_violation ??= fieldError(code, path)
  else validation.specific_violation ??= fieldError(code, path)
  return undefined
}

/** Records a violation of a field of the current object. */
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
