/** The refusals of an RPC, by Connect's names, after which the called system may have acted all the same. */
export const UNCLEAR_CODES: ReadonlySet<string> = new Set([
  'unavailable',
  'deadline_exceeded',
  'canceled',
  'internal',
  'unknown',
])
