import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { filterFromProto, serveSummary } from '../../rpc/request-from-proto.ts'
import { listResources } from '../../use-cases/list-resources.ts'
import { chargebackToProto } from '../domain/chargeback.ts'
import { CHARGEBACK_LIST } from '../store/chargebacks.ts'
import { findChargeback } from '../use-cases/find-chargeback.ts'
import type { ChargebackDeps } from '../use-cases/open-chargeback.ts'

/** Serves the chargeback methods of the gateway. */
export function createMerchantChargebackRpc(deps: ChargebackDeps): RpcService {
  const list = { ...CHARGEBACK_LIST, collection: deps.chargebacks, keyring: deps.keys.cursor }
  return rpcService(MerchantChargebackService, {
    findChargeback: by(['gateway'], async (request) => {
      const chargeback_id = requiredId(request.chargebackId, 'chargeback_id')
      const found = await findChargeback(deps.chargebacks, { ...scopeFromProto(request), chargeback_id })
      return { chargeback: chargebackToProto(found) }
    }),
    summarizeChargebacks: by(['gateway'], serveSummary(deps.chargebacks, CHARGEBACK_STATUSES)),
    listMerchantChargebacks: by(['gateway'], async (request) => {
      const filter = filterFromProto(request, CHARGEBACK_STATUSES)
      const { items, next_cursor } = await listResources(list, filter, request)
      return { chargebacks: items.map(chargebackToProto), nextCursor: next_cursor }
    }),
  })
}
