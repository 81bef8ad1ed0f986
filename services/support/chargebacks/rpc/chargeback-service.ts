import {
  ChargebackService,
  type OpenChargebackRequest as OpenChargebackRequestProto,
} from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { checkInstant, checkLine, checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { REASON_MAX } from '../../domain/support-resource.ts'
import { checkByDeadline, operatorListFromProto } from '../../rpc/request-from-proto.ts'
import { listByDeadline, listForOperator } from '../../use-cases/list-for-operator.ts'
import { chargebackToProto } from '../domain/chargeback.ts'
import { CHARGEBACK_LIST } from '../store/chargebacks.ts'
import { addEvidence, moveChargeback } from '../use-cases/change-chargeback.ts'
import { getChargeback } from '../use-cases/find-chargeback.ts'
import {
  type ChargebackDeps,
  type OpenChargebackRequest,
  openChargeback,
  recordChargeback,
} from '../use-cases/open-chargeback.ts'

/** Serves the operator's work on chargebacks, and the reports of payments. */
export function createChargebackRpc(deps: ChargebackDeps): RpcService {
  return rpcService(ChargebackService, {
    openChargeback: by(['backoffice'], async (request) => ({
      chargeback: chargebackToProto(await openChargeback(deps, openRequestFromProto(request))),
    })),
    moveChargeback: by(['backoffice'], async (request) => {
      const chargeback_id = requiredId(request.chargebackId, 'chargeback_id')
      const status = CHARGEBACK_STATUSES.required(request.status, 'status')
      const note = checkText(request.note, 'note', REASON_MAX)
      return { chargeback: chargebackToProto(await moveChargeback(deps, chargeback_id, { status, note })) }
    }),
    addEvidence: by(['backoffice'], async ({ chargebackId, attachmentId }) => {
      const chargeback_id = requiredId(chargebackId, 'chargeback_id')
      const attachment_id = requiredId(attachmentId, 'attachment_id')
      return { chargeback: chargebackToProto(await addEvidence(deps, chargeback_id, attachment_id)) }
    }),
    getChargeback: by(['backoffice', 'internal'], async ({ chargebackId }) => {
      const found = await getChargeback(deps.chargebacks, requiredId(chargebackId, 'chargeback_id'))
      return { chargeback: chargebackToProto(found) }
    }),
    listChargebacks: by(['backoffice', 'internal'], async (request) => {
      const { filter, page } = operatorListFromProto(request, CHARGEBACK_STATUSES)
      const list = { ...CHARGEBACK_LIST, collection: deps.chargebacks }
      if (request.byDeadline) checkByDeadline(request)
      const listed = await (request.byDeadline
        ? listByDeadline(list, filter, page)
        : listForOperator(list, filter, page))
      return { chargebacks: listed.items.map(chargebackToProto), nextPageToken: listed.next_page_token }
    }),
    recordChargeback: by(['payments'], async ({ debit }) => {
      await recordChargeback(deps, debit)
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
    deadline_at: deadlineAt && checkInstant(deadlineAt, 'deadline_at'),
    operation_id: requiredId(request.operationId, 'operation_id'),
  }
}
