/**
 * The code of what the system refused, such as `ENOENT`. By its shape and not by `instanceof`: where modules are loaded
 * into several realms, the system's errors belong to another one.
 */
export function systemErrorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
