import {
  type ListMerchantChargebacksRequest,
  MerchantChargebackService,
} from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { CHARGEBACK_STATUSES, type ChargebackStatus } from '#lib/contract/chargeback-status.ts'
import { createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import { type RpcService, rpcService } from '#lib/rpc/service.ts'
import { paymentFilter } from '../../rpc/list-filter-from-proto.ts'
import { ownerFromProto } from '../../rpc/owner-from-proto.ts'
import type { ResourceFilter } from '../../use-cases/list-resources.ts'
import { chargebackToProto } from '../domain/chargeback-to-proto.ts'
import { findChargeback } from '../use-cases/find-chargeback.ts'
import {
  type ListChargebacksDeps,
  listChargebacks,
  summarizeChargebacks,
} from '../use-cases/list-chargebacks.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = {
  findChargeback: ['gateway'],
  summarizeChargebacks: ['gateway'],
  listMerchantChargebacks: ['gateway'],
} as const

/** Serves the chargeback methods of the gateway. */
export function createMerchantChargebackRpc(deps: ListChargebacksDeps): RpcService {
  return rpcService(MerchantChargebackService, PERMISSIONS, {
    async findChargeback(request) {
      const chargeback_id = requiredId(request.chargebackId, 'chargeback_id')
      const found = await findChargeback(deps.chargebacks, { ...ownerFromProto(request), chargeback_id })
      return { chargeback: chargebackToProto(found) }
    },
    async summarizeChargebacks(request) {
      const counts = await summarizeChargebacks(deps, {
        ...ownerFromProto(request),
        ...createdRange(request),
      })
      return {
        counts: CHARGEBACK_STATUSES.names.map((status) => ({
          status: CHARGEBACK_STATUSES.toProto(status),
          count: BigInt(counts[status]),
        })),
      }
    },
    async listMerchantChargebacks(request) {
      const { items, next_cursor } = await listChargebacks(deps, filterFromProto(request), request)
      return { chargebacks: items.map(chargebackToProto), nextCursor: next_cursor }
    },
  })
}

function filterFromProto(request: ListMerchantChargebacksRequest): ResourceFilter<ChargebackStatus> {
  return {
    ...ownerFromProto(request),
    statuses: CHARGEBACK_STATUSES.requiredEach(request.statuses, 'statuses'),
    ...paymentFilter(request.payment),
    ...createdRange(request),
  }
}
