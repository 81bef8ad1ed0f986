import type { Environment } from '#lib/environment.ts'
import { fieldError, type PublicError } from '#lib/errors/public-error.ts'
import type { ErrorCode } from '#lib/errors/table.ts'

/** A key that nobody knows is shown no longer than this: it is the caller's own text. */
const KEY_SHOWN_MAX = 64

/**
 * Collects the faults of one request while its schema is walked in the order of the spec's table, and keeps the one
 * that E6 wants told: the first 1005, else the first 9000, else the first specific code.
 */
export interface Inspection {
  /** Where the request will act: some rules are stricter in production. */
  readonly environment: Environment
  /** Steps into a field or an element; `leave` steps out again. */
  enter(key: string): void
  leave(): void
  /** Reports a fault where the walk stands. A 1005 is thrown at once, for nothing can come before it. */
  report(code: ErrorCode): undefined
  /** The same for a field of the object where the walk stands. */
  reportAt(key: string, code: ErrorCode): void
  /** The fault to tell, when there is one. */
  fault(): PublicError | undefined
}

/** Begins the inspection of one request. */
export function createInspection(environment: Environment): Inspection {
  const path: string[] = []
  let content: PublicError | undefined
  let specific: PublicError | undefined
  const report = (code: ErrorCode): undefined => {
    if (code === 1005) throw fieldError(code, path.join('.'))
    if (code === 9000) content ??= fieldError(code, path.join('.'))
    else specific ??= fieldError(code, path.join('.'))
    return undefined
  }
  return {
    environment,
    enter: (key) => void path.push(key),
    leave: () => void path.pop(),
    report,
    reportAt(key, code) {
      path.push(key.slice(0, KEY_SHOWN_MAX))
      report(code)
      path.pop()
    },
    fault: () => content ?? specific,
  }
}
