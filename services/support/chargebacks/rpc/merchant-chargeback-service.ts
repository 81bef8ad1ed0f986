import {
  type ListMerchantChargebacksRequest,
  MerchantChargebackService,
} from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import { CHARGEBACK_STATUSES, type ChargebackStatus } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { paymentFilter, scopeFromProto, summaryToProto } from '../../rpc/merchant-proto.ts'
import type { ResourceFilter } from '../../use-cases/list-resources.ts'
import { createSummary } from '../../use-cases/summarize.ts'
import { chargebackToProto } from '../domain/chargeback.ts'
import { findChargeback } from '../use-cases/change-chargeback.ts'
import { type ListChargebacksDeps, listChargebacks } from '../use-cases/list-chargebacks.ts'

/** Serves the chargeback methods of the gateway. */
export function createMerchantChargebackRpc(deps: ListChargebacksDeps): RpcService {
  const summarize = createSummary(deps.chargebacks, CHARGEBACK_STATUSES.names)
  return rpcService(MerchantChargebackService, {
    findChargeback: by(['gateway'], async (request) => {
      const chargeback_id = requiredId(request.chargebackId, 'chargeback_id')
      const found = await findChargeback(deps.chargebacks, { ...scopeFromProto(request), chargeback_id })
      return { chargeback: chargebackToProto(found) }
    }),
    summarizeChargebacks: by(['gateway'], async (request) =>
      summaryToProto(
        await summarize({ ...scopeFromProto(request), ...createdRange(request) }),
        CHARGEBACK_STATUSES,
      ),
    ),
    listMerchantChargebacks: by(['gateway'], async (request) => {
      const { items, next_cursor } = await listChargebacks(deps, filterFromProto(request), request)
      return { chargebacks: items.map(chargebackToProto), nextCursor: next_cursor }
    }),
  })
}

function filterFromProto(request: ListMerchantChargebacksRequest): ResourceFilter<ChargebackStatus> {
  return {
    ...scopeFromProto(request),
    statuses: CHARGEBACK_STATUSES.requiredEach(request.statuses, 'statuses'),
    ...paymentFilter(request.payment),
    ...createdRange(request),
  }
}
