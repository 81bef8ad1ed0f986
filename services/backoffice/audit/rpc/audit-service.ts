import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type AuditEntrySchema, AuditOutcome } from '#gen/multihub/backoffice/v1/audit_pb.ts'
import { AuditService } from '#gen/multihub/backoffice/v1/audit_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkLine, createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Audit } from '../audit.ts'
import type { AuditOutcomeName } from '../domain/audit-record.ts'
import type { AuditEntry } from '../use-cases/list-entries.ts'
import { type PrincipalSource, principalNamed, rpcNamed } from '../use-cases/resolve-filter.ts'

const OUTCOMES = createEnumMap<AuditOutcomeName, AuditOutcome>({
  done: AuditOutcome.DONE,
  refused: AuditOutcome.REFUSED,
  pending_approval: AuditOutcome.PENDING_APPROVAL,
  unknown: AuditOutcome.UNKNOWN,
})

/** Implements `AuditService`. */
export function createAuditRpc(
  audit: Pick<Audit, 'list' | 'get' | 'verify'>,
  source: PrincipalSource,
): RpcService {
  return rpcService(AuditService, {
    listAuditEntries: by(['backoffice'], async (request) => {
      const target_kind = given(request.targetKind, 'target_kind')
      const target_id = given(request.targetId, 'target_id')
      if (target_id !== undefined && target_kind === undefined) throw fieldError(1005, 'target_kind')
      const principal = given(request.principalId, 'principal_id')
      const rpc = given(request.rpc, 'rpc')
      const { entries, next_page_token } = await audit.list({
        principal_id: principal && (await principalNamed(principal, source)),
        rpc: rpc && rpcNamed(rpc),
        merchant_id: given(request.merchantId, 'merchant_id'),
        target_kind,
        target_id,
        ...createdRange(request),
        page_size: request.pageSize,
        page_token: request.pageToken,
      })
      return { entries: entries.map(entryToProto), nextPageToken: next_page_token }
    }),
    getAuditEntry: by(['backoffice'], async ({ auditId }) => {
      const entry = await audit.get(requiredId(auditId, 'audit_id'))
      if (entry === undefined) throw fieldError(1003, 'audit_id', 'nothing has this id')
      return { entry: entryToProto(entry) }
    }),
    verifyAudit: by(['backoffice'], async () => {
      const { entries, problems } = await audit.verify()
      return { consistent: problems.length === 0, entries, problems: [...problems] }
    }),
  })
}

function given(text: string, path: string): string | undefined {
  return text === '' ? undefined : checkLine(text, path)
}

function entryToProto(entry: AuditEntry): MessageInitShape<typeof AuditEntrySchema> {
  const { audit_id, time, principal_id, principal_name, rpc, targets, request, request_id, is_damaged } =
    entry
  const {
    merchant_id = '',
    reason = '',
    outcome,
    error_code = 0,
    before = '',
    after = '',
    approval_id = '',
  } = entry
  return {
    auditId: audit_id,
    time: timestampFromDate(time),
    principalId: principal_id,
    principalName: principal_name,
    rpc,
    merchantId: merchant_id,
    targets: targets.map(({ kind, id }) => ({ kind, id })),
    reason,
    request,
    outcome: outcome === undefined ? AuditOutcome.UNSPECIFIED : OUTCOMES.toProto(outcome),
    errorCode: error_code,
    before,
    after,
    requestId: request_id,
    approvalId: approval_id,
    damaged: is_damaged,
  }
}
