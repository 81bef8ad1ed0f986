import { codeToString } from '@connectrpc/connect/protocol-connect'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { UNCLEAR_CODES } from '#lib/contract/unclear-codes.ts'
import { RpcStatusError, toCallerError } from '#lib/rpc/errors.ts'

/** Whether the error of a call leaves open if the owner has acted. */
export function isUnclear(error: unknown): boolean {
  return UNCLEAR_CODES.has(codeToString(toCallerError(error).code))
}

/** The code of an error in the error table; 0 for a refusal of the RPC layer. */
export function errorCodeOf(error: unknown): number {
  if (error instanceof PublicError) return error.code
  return error instanceof RpcStatusError ? (error.detail?.code ?? 0) : 2001
}
