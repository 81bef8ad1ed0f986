import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { type ApprovalSchema, ApprovalStatus } from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { isCurrencyCode } from '#lib/contract/money.ts'
import { checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { POLICY_RPCS } from '#lib/contract/policy-rpcs.ts'
import { createEnumMap, requiredText } from '#lib/contract/proto-fields.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Principal } from '../../domain/principal.ts'
import { FIRST_PRINCIPAL } from '../../door/authenticate.ts'
import { APPROVAL_HEADER } from '../../rpc/principal-service.ts'
import { type Approval, loosens, type ApprovalStatus as Status, statusAt } from '../domain/approval.ts'
import type { Approvals } from '../store/approvals.ts'
import { decideApproval } from '../use-cases/decide-approval.ts'

const STATUSES = createEnumMap<Status, ApprovalStatus>({
  pending: ApprovalStatus.PENDING,
  approved: ApprovalStatus.APPROVED,
  executed: ApprovalStatus.EXECUTED,
  rejected: ApprovalStatus.REJECTED,
  expired: ApprovalStatus.EXPIRED,
  obsolete: ApprovalStatus.OBSOLETE,
})

const REASON_MAX = 500

interface ApprovalRpcDeps {
  readonly approvals: Approvals
  readonly getPrincipal: (principal_id: string) => Promise<Principal | undefined>
  readonly execute: (approval: Approval) => Promise<Approval>
}

/** Implements `ApprovalService`. */
export function createApprovalRpc(deps: ApprovalRpcDeps): RpcService {
  const { approvals, execute } = deps

  async function decided(
    status: 'approved' | 'rejected',
    request: { readonly approvalId: string; readonly reason: string },
    { requestHeader }: HandlerContext,
  ): Promise<Approval> {
    return await decideApproval(deps, {
      approval_id: requiredId(request.approvalId, 'approval_id'),
      status,
      decider_id: requestHeader.get(PRINCIPAL_HEADER) ?? '',
      reason: checkText(requiredText(request.reason, 'reason'), 'reason', REASON_MAX),
    })
  }

  return rpcService(ApprovalService, {
    setApprovalPolicy: by(['backoffice'], async ({ rpc, currency, aboveMinor }, { requestHeader }) => {
      if (!POLICY_RPCS.includes(rpc)) throw fieldError(9000, 'rpc', `one of ${POLICY_RPCS.join(', ')}`)
      if (!isCurrencyCode(currency)) throw fieldError(9000, 'currency', 'an ISO 4217 code')
      if (aboveMinor !== undefined && aboveMinor < 0n) throw fieldError(9000, 'above_minor', 'at least 0')
      const approval_id = requestHeader.get(APPROVAL_HEADER) ?? undefined
      const is_way_back = requestHeader.get(PRINCIPAL_HEADER) === FIRST_PRINCIPAL.principal_id
      await approvals.setPolicy({ rpc, currency, above_minor: aboveMinor }, approval_id, (present) => {
        if (approval_id === undefined && !is_way_back && loosens(present, aboveMinor))
          throw new PublicError(8801, { details: { reason: 'the policy was made stricter meanwhile' } })
      })
      return aboveMinor === undefined ? {} : { policy: { rpc, currency, aboveMinor } }
    }),
    listApprovalPolicies: by(['backoffice'], async () => ({
      policies: (await approvals.listPolicies()).map(({ rpc, currency, above_minor }) => ({
        rpc,
        currency,
        aboveMinor: above_minor,
      })),
    })),
    listApprovals: by(['backoffice'], async ({ status, pageSize, pageToken }) => {
      const page = await approvals.list(STATUSES.optional(status, 'status'), {
        page_size: pageSize,
        page_token: pageToken,
      })
      return { approvals: page.items.map(approvalToProto), nextPageToken: page.next_page_token }
    }),
    getApproval: by(['backoffice'], async ({ approvalId }) => {
      const approval = await approvals.get(requiredId(approvalId, 'approval_id'))
      if (approval === undefined) throw fieldError(1003, 'approval_id', 'nothing has this id')
      return { approval: approvalToProto(approval) }
    }),
    approve: by(['backoffice'], async (request, context) => ({
      approval: approvalToProto(await execute(await decided('approved', request, context))),
    })),
    reject: by(['backoffice'], async (request, context) => ({
      approval: approvalToProto(await decided('rejected', request, context)),
    })),
  })
}

function approvalToProto(approval: Approval): MessageInitShape<typeof ApprovalSchema> {
  const { approval_id, rpc, operation_id = '', amount, shown_request, proposer_id, reason = '' } = approval
  const {
    created_at,
    expires_at,
    decider_id = '',
    decision_reason = '',
    decided_at,
    error_code = 0,
  } = approval
  return {
    approvalId: approval_id,
    status: STATUSES.toProto(statusAt(approval, now())),
    rpc,
    operationId: operation_id,
    ...(amount === undefined ? {} : { amount }),
    request: shown_request,
    proposerId: proposer_id,
    reason,
    createTime: timestampFromDate(created_at),
    expireTime: timestampFromDate(expires_at),
    deciderId: decider_id,
    decisionReason: decision_reason,
    ...(decided_at === undefined ? {} : { decideTime: timestampFromDate(decided_at) }),
    errorCode: error_code,
  }
}
