import { Code } from '@connectrpc/connect'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { RpcStatusError, toCallerError } from '#lib/rpc/errors.ts'

/** The statuses after which the owner may have acted all the same. */
const UNCLEAR: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
])

/** Whether the error of a call leaves open if the owner has acted. */
export function isUnclear(error: unknown): boolean {
  return UNCLEAR.has(toCallerError(error).code)
}

/** The code of an error in the error table; 0 for a refusal of the RPC layer. */
export function errorCodeOf(error: unknown): number {
  if (error instanceof PublicError) return error.code
  return error instanceof RpcStatusError ? (error.detail?.code ?? 0) : 2001
}
