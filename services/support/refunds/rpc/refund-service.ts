import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { checkLine, checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { COMMENT_MAX, REASON_MAX } from '../../domain/support-resource.ts'
import { refundChangeFromProto, refundToProto } from '../domain/refund.ts'
import { answerRefund, listAllRefundComments, type RefundCommentDeps } from '../use-cases/comment-refund.ts'
import { listRefundsForOperator } from '../use-cases/list-refunds.ts'
import { recordRefundChange } from '../use-cases/record-refund-change.ts'
import { approveRefund, closeRefund, type DecideRefundDeps } from '../use-cases/request-refund.ts'
import { operatorFilterFromProto, refundCommentToProto } from './refund-from-proto.ts'

/** Serves the operator's decisions about refunds, and the reports of payments. */
export function createRefundRpc(deps: DecideRefundDeps & RefundCommentDeps): RpcService {
  const close = async (
    status: 'rejected' | 'canceled',
    { refundId, reason }: { readonly refundId: string; readonly reason: string },
  ) => {
    const refund_id = requiredId(refundId, 'refund_id')
    return {
      refund: refundToProto(
        await closeRefund(deps, refund_id, status, checkText(reason, 'reason', REASON_MAX)),
      ),
    }
  }
  return rpcService(RefundService, {
    approveRefund: by(['operator'], async ({ refundId }) => ({
      refund: refundToProto(await approveRefund(deps, requiredId(refundId, 'refund_id'))),
    })),
    rejectRefund: by(['operator'], (request) => close('rejected', request)),
    cancelRefund: by(['operator'], (request) => close('canceled', request)),
    listRefunds: by(['operator', 'internal'], async (request) => {
      const { items, next_page_token } = await listRefundsForOperator(
        deps,
        operatorFilterFromProto(request),
        {
          page_size: request.pageSize,
          page_token: request.pageToken,
        },
      )
      return { refunds: items.map(refundToProto), nextPageToken: next_page_token }
    }),
    answerRefund: by(['operator'], async (request) => {
      const comment = await answerRefund(deps, {
        refund_id: requiredId(request.refundId, 'refund_id'),
        body: checkText(requiredText(request.body, 'body'), 'body', COMMENT_MAX),
        operation_id: checkLine(request.operationId, 'operation_id'),
      })
      return { comment: refundCommentToProto(comment) }
    }),
    listRefundComments: by(
      ['operator', 'internal'],
      async ({ refundId, pageSize: page_size, pageToken: page_token }) => {
        const refund_id = requiredId(refundId, 'refund_id')
        const page = await listAllRefundComments(deps, refund_id, { page_size, page_token })
        return { comments: page.items.map(refundCommentToProto), nextPageToken: page.next_page_token }
      },
    ),
    recordRefundChange: by(['payments'], async ({ change }) => {
      await recordRefundChange(deps, refundChangeFromProto(change))
      return {}
    }),
  })
}
