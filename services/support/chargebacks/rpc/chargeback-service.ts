import {
  ChargebackService,
  type ListChargebacksRequest,
  type OpenChargebackRequest as OpenChargebackRequestProto,
} from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { checkInstant, checkLine, checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { REASON_MAX } from '../../domain/support-resource.ts'
import type { OperatorFilter } from '../../use-cases/list-resources.ts'
import { chargebackFromDebit, chargebackToProto } from '../domain/chargeback.ts'
import { type AddEvidenceDeps, addEvidence, moveChargeback } from '../use-cases/change-chargeback.ts'
import { listChargebacksForOperator } from '../use-cases/list-chargebacks.ts'
import {
  type OpenChargebackDeps,
  type OpenChargebackRequest,
  openChargeback,
  recordChargeback,
} from '../use-cases/open-chargeback.ts'

/** Serves the operator's work on chargebacks, and the reports of payments. */
export function createChargebackRpc(deps: OpenChargebackDeps & AddEvidenceDeps): RpcService {
  return rpcService(ChargebackService, {
    openChargeback: by(['operator'], async (request) => ({
      chargeback: chargebackToProto(await openChargeback(deps, openRequestFromProto(request))),
    })),
    moveChargeback: by(['operator'], async (request) => {
      const chargeback_id = requiredId(request.chargebackId, 'chargeback_id')
      const status = CHARGEBACK_STATUSES.required(request.status, 'status')
      const note = checkText(request.note, 'note', REASON_MAX)
      const moved = await moveChargeback(deps, chargeback_id, note === '' ? { status } : { status, note })
      return { chargeback: chargebackToProto(moved) }
    }),
    addEvidence: by(['operator'], async ({ chargebackId, attachmentId }) => {
      const chargeback_id = requiredId(chargebackId, 'chargeback_id')
      const attachment_id = requiredId(attachmentId, 'attachment_id')
      return { chargeback: chargebackToProto(await addEvidence(deps, chargeback_id, attachment_id)) }
    }),
    listChargebacks: by(['operator', 'internal'], async (request) => {
      const page = { page_size: request.pageSize, page_token: request.pageToken }
      const found = await listChargebacksForOperator(deps, operatorFilterFromProto(request), page)
      return { chargebacks: found.items.map(chargebackToProto), nextPageToken: found.next_page_token }
    }),
    recordChargeback: by(['payments'], async ({ debit }) => {
      await recordChargeback(deps, chargebackFromDebit(debit))
      return {}
    }),
  })
}

const REASON_CODE_MAX = 64

function openRequestFromProto(request: OpenChargebackRequestProto): OpenChargebackRequest {
  const { minor, currency } = requiredMessage(request.amount, 'amount')
  if (minor < 1n || minor > AMOUNT_MAX) throw fieldError(6001, 'amount')
  const { deadlineAt } = request
  return {
    payment_id: requiredId(request.paymentId, 'payment_id'),
    amount: minor,
    currency,
    reason_code: checkLine(requiredText(request.reasonCode, 'reason_code'), 'reason_code', REASON_CODE_MAX),
    ...(deadlineAt ? { deadline_at: checkInstant(deadlineAt, 'deadline_at') } : {}),
    operation_id: checkLine(request.operationId, 'operation_id'),
  }
}

function operatorFilterFromProto(request: ListChargebacksRequest): OperatorFilter {
  const environment = ENVIRONMENTS.optional(request.environment, 'environment')
  return {
    merchant_id: requiredId(request.merchantId, 'merchant_id'),
    ...(environment ? { environment } : {}),
    statuses: CHARGEBACK_STATUSES.requiredEach(request.statuses, 'statuses'),
  }
}
