import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import { boundedText } from '../../rpc/operator-text.ts'
import { refundChangeFromProto } from '../domain/refund-change-from-proto.ts'
import { refundToProto } from '../domain/refund-to-proto.ts'
import { approveRefund, closeRefund, type DecideRefundDeps } from '../use-cases/decide-refund.ts'
import { recordRefundChange } from '../use-cases/record-refund-change.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = {
  approveRefund: ['operator'],
  rejectRefund: ['operator'],
  cancelRefund: ['operator'],
  recordRefundChange: ['payments'],
} as const

/** Serves the operator's decisions about refunds, and the reports of payments. */
export function createRefundRpc(deps: DecideRefundDeps): RpcService {
  const close = async (
    status: 'rejected' | 'canceled',
    { refundId, reason }: { readonly refundId: string; readonly reason: string },
  ) => {
    const refund_id = requiredText(refundId, 'refund_id')
    return {
      refund: refundToProto(await closeRefund(deps, refund_id, status, boundedText(reason, 'reason'))),
    }
  }
  return rpcService(RefundService, PERMISSIONS, {
    async approveRefund({ refundId }) {
      return { refund: refundToProto(await approveRefund(deps, requiredText(refundId, 'refund_id'))) }
    },
    rejectRefund: (request) => close('rejected', request),
    cancelRefund: (request) => close('canceled', request),
    async recordRefundChange({ change }) {
      await recordRefundChange(deps, refundChangeFromProto(change))
      return {}
    },
  })
}
