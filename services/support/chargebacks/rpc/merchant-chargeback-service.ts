import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import { ownerFromProto } from '../../rpc/owner-from-proto.ts'
import { chargebackToProto } from '../domain/chargeback-to-proto.ts'
import { type ChargebacksDeps, findChargeback } from '../use-cases/record-chargeback.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = { findChargeback: ['gateway'] } as const

/** Serves the chargeback methods of the gateway. */
export function createMerchantChargebackRpc({ chargebacks }: ChargebacksDeps): RpcService {
  return rpcService(MerchantChargebackService, PERMISSIONS, {
    async findChargeback(request) {
      const chargeback_id = requiredText(request.chargebackId, 'chargeback_id')
      const found = await findChargeback(chargebacks, { ...ownerFromProto(request), chargeback_id })
      return { chargeback: chargebackToProto(found) }
    },
  })
}
