/**
 * The code of a system error, such as `ENOENT`, or `undefined`. It does not use `instanceof`: a test runner loads modules
 * into a realm of its own, whose `Error` is another class.
 */
export function systemErrorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
