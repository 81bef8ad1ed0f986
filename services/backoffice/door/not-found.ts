import { Code } from '@connectrpc/connect'
import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'

/**
 * The refusal of an id that does not exist (O15), with the detail of the owner's refusal if there is one. A principal of a
 * merchant gets it without a detail, also for the id of another merchant, so that it cannot tell the two apart (O2).
 */
export function notFound(detail?: PublicError): RpcStatusError {
  return new RpcStatusError(Code.NotFound, 'there is nothing with this id', detail)
}
