import { type Code, ConnectError } from '@connectrpc/connect'
import { toConnectError } from './translate-errors.ts'

/**
 * A call that the RPC layer itself refuses, with an RPC status and without a code of the public error table. The cause is
 * the program or configuration of the calling process, so a merchant must not see it, for example as 3000.
 */
export class RpcStatusError extends Error {
  override readonly name = 'RpcStatusError'
  readonly status: Code

  constructor(status: Code, message: string) {
    super(message)
    this.status = status
  }
}

/** Converts any error of a call to the status that its caller may see. */
export function toCallerError(error: unknown): ConnectError {
  return error instanceof RpcStatusError
    ? new ConnectError(error.message, error.status)
    : toConnectError(error)
}
