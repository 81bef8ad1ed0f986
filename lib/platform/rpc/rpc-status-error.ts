import { type Code, ConnectError } from '@connectrpc/connect'
import { toConnectError } from './translate-errors.ts'

/**
 * What lib/platform/rpc itself says no to, with a status and no code of the public table: the fault is the caller's program
 * or its configuration, and no merchant must be told, say, 3000 because two of our processes disagree on a token.
 */
export class RpcStatusError extends Error {
  override readonly name = 'Refusal'
  readonly status: Code

  constructor(status: Code, message: string) {
    super(message)
    this.status = status
  }
}

/** The status that a caller is shown for anything thrown while its call was served. */
export function toCallerError(error: unknown): ConnectError {
  return error instanceof RpcStatusError
    ? new ConnectError(error.message, error.status)
    : toConnectError(error)
}
