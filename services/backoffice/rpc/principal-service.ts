import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import {
  PrincipalKind,
  type PrincipalSchema,
  PrincipalStatus,
} from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkInstant, checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap, requiredText, timesToProto } from '#lib/contract/proto-fields.ts'
import { principalOf } from '#lib/rpc/principal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Principal } from '../domain/principal.ts'
import type { Principals } from '../store/principals.ts'
import {
  createPrincipal,
  revokePrincipal,
  rotateToken,
  unknownPrincipal,
  updatePrincipal,
} from '../use-cases/principals.ts'

/** The metadata by which the back office names the approval of a call to an owner, where a second person approved it (O5). */
export const APPROVAL_HEADER = 'x-multihub-approval'

const KINDS = createEnumMap<Principal['kind'], PrincipalKind>({
  person: PrincipalKind.PERSON,
  program: PrincipalKind.PROGRAM,
})

const STATUSES = createEnumMap<Principal['status'], PrincipalStatus>({
  active: PrincipalStatus.ACTIVE,
  revoked: PrincipalStatus.REVOKED,
})

const REASON_MAX = 500

/** Serves the RPCs for principals. `findFirst` returns the principal of the first token, which is not stored (O3). */
export function createPrincipalRpc(
  principals: Principals,
  findFirst: (principal_id: string) => Principal | undefined,
): RpcService {
  const readPrincipal = async (id: string) => {
    const principal = findFirst(id) ?? (await principals.get(id))
    if (principal === undefined) throw unknownPrincipal()
    return principalToProto(principal)
  }
  return rpcService(PrincipalService, {
    createPrincipal: by(['backoffice'], async (request, { requestHeader }: HandlerContext) => {
      const operation_id = requiredId(request.operationId, 'operation_id')
      const merchant_id = checkLine(request.merchantId, 'merchant_id')
      const given = {
        name: checkLine(requiredText(request.name, 'name'), 'name'),
        kind: KINDS.required(request.kind, 'kind'),
        rights: request.rights,
        ...(merchant_id === '' ? {} : { merchant_id }),
        ...(request.expiresAt ? { expires_at: checkInstant(request.expiresAt, 'expires_at') } : {}),
      }
      const is_approved = requestHeader.has(APPROVAL_HEADER)
      const { principal, token } = await createPrincipal(principals, operation_id, given, { is_approved })
      return { principal: principalToProto(principal), token: token?.reveal() ?? '' }
    }),
    getPrincipal: by(['backoffice'], async ({ principalId }) => ({
      principal: await readPrincipal(requiredId(principalId, 'principal_id')),
    })),
    listPrincipals: by(['backoffice'], async ({ pageSize: page_size, pageToken: page_token }) => {
      const page = await principals.list({ page_size, page_token })
      return { principals: page.items.map(principalToProto), nextPageToken: page.next_page_token }
    }),
    updatePrincipal: by(['backoffice'], async (request, { requestHeader }: HandlerContext) => {
      const { principalId, name, rights, expiresAt, neverExpires } = request
      if (expiresAt && neverExpires) throw fieldError(9000, 'expires_at', 'absent with never_expires')
      const changes = {
        name: name === undefined ? undefined : checkLine(requiredText(name, 'name'), 'name'),
        rights,
        expires_at: neverExpires ? ('never' as const) : expiresAt && checkInstant(expiresAt, 'expires_at'),
      }
      const principal_id = requiredId(principalId, 'principal_id')
      const approval_id = requestHeader.get(APPROVAL_HEADER) ?? undefined
      const principal = await updatePrincipal(principals, principal_id, changes, approval_id)
      return { principal: principalToProto(principal) }
    }),
    rotateToken: by(['backoffice'], async ({ principalId, overlapSeconds, operationId }) => {
      const { principal, token } = await rotateToken(principals, requiredId(principalId, 'principal_id'), {
        overlap_seconds: overlapSeconds,
        operation_id: checkLine(operationId, 'operation_id'),
      })
      return { principal: principalToProto(principal), token: token?.reveal() ?? '' }
    }),
    revokePrincipal: by(['backoffice'], async ({ principalId, reason }) => {
      const id = requiredId(principalId, 'principal_id')
      const text = checkLine(requiredText(reason, 'reason'), 'reason', REASON_MAX)
      return { principal: principalToProto(await revokePrincipal(principals, id, text)) }
    }),
    whoAmI: by(['backoffice'], async (_request, context: HandlerContext) => ({
      principal: await readPrincipal(principalOf(context)),
    })),
  })
}

function principalToProto(principal: Principal): MessageInitShape<typeof PrincipalSchema> {
  const { principal_id, name, kind, rights, merchant_id = '', expires_at, status } = principal
  return {
    principalId: principal_id,
    name,
    kind: KINDS.toProto(kind),
    rights: [...rights],
    merchantId: merchant_id,
    ...(expires_at ? { expiresAt: timestampFromDate(expires_at) } : {}),
    status: STATUSES.toProto(status),
    ...timesToProto(principal),
  }
}
