import { create } from '@bufbuild/protobuf'
import { PrincipalService, WhoAmIRequestSchema } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { CommandError } from '../terminal.ts'
import type { Connection } from './connection.ts'

/** The merchant of a command: the given one, or the merchant of the token. Throws `CommandError` 2 when the token sees all merchants. */
export async function ownMerchant(connection: Connection, given: string | undefined): Promise<string> {
  if (given !== undefined) return given
  const request = create(WhoAmIRequestSchema)
  const { principal } = await connection.call(PrincipalService.method.whoAmI, request)
  if (principal === undefined || principal.merchantId === '')
    throw new CommandError(2, 'your token sees all merchants: give --merchant')
  return principal.merchantId
}
