import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import { refundToProto } from '../domain/refund-to-proto.ts'
import { findRefund } from '../use-cases/record-refund-change.ts'
import { type RequestRefundDeps, requestRefund } from '../use-cases/request-refund.ts'
import { refundQueryFromProto, requestRefundRequestFromProto } from './refund-from-proto.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = { requestRefund: ['gateway'], findRefund: ['gateway'] } as const

/** Serves the refund methods of the gateway. */
export function createMerchantRefundRpc(deps: RequestRefundDeps): RpcService {
  return rpcService(MerchantRefundService, PERMISSIONS, {
    async requestRefund(request) {
      return { refund: refundToProto(await requestRefund(deps, requestRefundRequestFromProto(request))) }
    },
    async findRefund(request) {
      return { refund: refundToProto(await findRefund(deps.refunds, refundQueryFromProto(request))) }
    },
  })
}
