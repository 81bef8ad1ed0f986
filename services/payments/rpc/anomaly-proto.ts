import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  AnomalyKind as AnomalyKindProto,
  AnomalyResolutionKind,
  type AnomalySchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import type {
  ListAnomaliesRequest,
  ResolveAnomalyRequest as ResolveAnomalyRequestProto,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { checkText, optionalId, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { Anomaly, AnomalyKind, AnomalyResolution, OperatorResolution } from '../domain/anomaly.ts'
import type { AnomalyFilter } from '../use-cases/list-anomalies.ts'
import type { ResolveAnomalyRequest } from '../use-cases/resolve-anomaly.ts'

const KINDS = createEnumMap<AnomalyKind, AnomalyKindProto>({
  contradicts_final_status: AnomalyKindProto.CONTRADICTS_FINAL_STATUS,
  amount_differs: AnomalyKindProto.AMOUNT_DIFFERS,
  success_of_earlier_attempt: AnomalyKindProto.SUCCESS_OF_EARLIER_ATTEMPT,
  not_found_at_provider: AnomalyKindProto.NOT_FOUND_AT_PROVIDER,
  open_too_long: AnomalyKindProto.OPEN_TOO_LONG,
  unmatched_report: AnomalyKindProto.UNMATCHED_REPORT,
  id_differs: AnomalyKindProto.ID_DIFFERS,
  ledger_refused: AnomalyKindProto.LEDGER_REFUSED,
  silent_since_restore: AnomalyKindProto.SILENT_SINCE_RESTORE,
  account_moved: AnomalyKindProto.ACCOUNT_MOVED,
})

/** What the operator can decide. */
const DECISIONS = {
  dismissed: AnomalyResolutionKind.DISMISSED,
  paid: AnomalyResolutionKind.PAID,
  not_paid: AnomalyResolutionKind.NOT_PAID,
} as const

const OPERATOR_RESOLUTIONS = createEnumMap<OperatorResolution, AnomalyResolutionKind>(DECISIONS)
const RESOLUTIONS = createEnumMap<AnomalyResolution['kind'], AnomalyResolutionKind>({
  ...DECISIONS,
  decided_by_provider: AnomalyResolutionKind.DECIDED_BY_PROVIDER,
})

const NOTE_CHARACTERS_MAX = 1_000

/** Maps the filter of a list of anomalies. Throws 9000 for an unknown kind, a wrong id, and an account together with a merchant. */
export function anomalyFilterFromProto(request: ListAnomaliesRequest): AnomalyFilter {
  const { merchantId = '', accountId, paymentId, kind, openOnly } = request
  if (accountId !== '' && merchantId !== '') throw fieldError(9000, 'account_id', 'without merchant_id')
  return {
    kind: KINDS.optional(kind, 'kind'),
    merchant_id: optionalId(merchantId, 'merchant_id'),
    account_id: optionalId(accountId, 'account_id'),
    payment_id: optionalId(paymentId, 'payment_id'),
    is_open: openOnly,
  }
}

/** Maps a decision on an anomaly. Throws 1005 for a field that is missing, and 9000 for one that is too long. */
export function resolveRequestFromProto(request: ResolveAnomalyRequestProto): ResolveAnomalyRequest {
  return {
    anomaly_id: requiredId(request.anomalyId, 'anomaly_id'),
    kind: OPERATOR_RESOLUTIONS.required(request.resolution, 'resolution'),
    amount: request.amount && { minor: request.amount.minor, currency: request.amount.currency },
    operation_id: requiredId(request.operationId, 'operation_id'),
    note: checkText(request.note, 'note', NOTE_CHARACTERS_MAX),
  }
}

/** Maps an anomaly to its message. */
export function anomalyToProto(anomaly: Anomaly): MessageInitShape<typeof AnomalySchema> {
  const { resolution } = anomaly
  return {
    anomalyId: anomaly.anomaly_id,
    paymentId: anomaly.payment_id,
    refundId: anomaly.refund_id,
    attemptNumber: anomaly.attempt_number,
    accountId: anomaly.account_id,
    ...scopeToProto(anomaly),
    kind: KINDS.toProto(anomaly.kind),
    description: anomaly.description,
    createTime: timestampFromDate(anomaly.created_at),
    resolution: resolution && {
      kind: RESOLUTIONS.toProto(resolution.kind),
      operationId: resolution.operation_id,
      note: resolution.note,
      resolveTime: timestampFromDate(resolution.at),
    },
  }
}
