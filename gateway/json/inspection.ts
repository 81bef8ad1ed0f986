import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'

/** A key that nobody knows is shown no longer than this, in code points: it is the caller's own text. */
const KEY_SHOWN_MAX = 64

/**
 * The state of a walk over one request, in the order of the spec's table. It keeps the one fault that E6 wants told:
 * the first 1005, else the first 9000, else the first specific code.
 */
export interface Inspection {
  /** Where the request will act: some rules are stricter in production. */
  readonly environment: Environment
  /** The keys from the top down to where the walk stands; whoever steps in pushes, and pops when it is done. */
  readonly path: string[]
  content_fault: PublicError | undefined
  specific_fault: PublicError | undefined
}

/** Begins the inspection of one request. */
export function createInspection(environment: Environment): Inspection {
  return { environment, path: [], content_fault: undefined, specific_fault: undefined }
}

/** Reports a fault where the walk stands. A 1005 is thrown at once, for nothing can come before it. */
export function report(inspection: Inspection, code: ErrorCode): undefined {
  const path = inspection.path.join('.')
  if (code === 1005) throw fieldError(code, path)
  if (code === 9000) inspection.content_fault ??= fieldError(code, path)
  else inspection.specific_fault ??= fieldError(code, path)
  return undefined
}

/** The same for a field of the object where the walk stands. */
export function reportAt(inspection: Inspection, key: string, code: ErrorCode): void {
  inspection.path.push(shown(key))
  report(inspection, code)
  inspection.path.pop()
}

/** Strict parsers refuse a text with half a surrogate pair, so that an answer must not have one. */
function shown(key: string): string {
  if (key.length <= KEY_SHOWN_MAX) return key.toWellFormed()
  const begin = [...key.slice(0, 2 * KEY_SHOWN_MAX)].slice(0, KEY_SHOWN_MAX)
  return begin.join('').toWellFormed()
}
