import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { createdRange } from '#lib/contract/operator-fields.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { scopeFromProto, summaryToProto } from '../../rpc/merchant-proto.ts'
import { createSummary } from '../../use-cases/summarize.ts'
import { refundToProto } from '../domain/refund.ts'
import { commentRefund, listRefundComments, type RefundCommentDeps } from '../use-cases/comment-refund.ts'
import { listRefunds } from '../use-cases/list-refunds.ts'
import { findRefund } from '../use-cases/record-refund-change.ts'
import { type RequestRefundDeps, requestRefund } from '../use-cases/request-refund.ts'
import {
  refundCommentFromProto,
  refundCommentToProto,
  refundFilterFromProto,
  refundQueryFromProto,
  requestRefundRequestFromProto,
} from './refund-from-proto.ts'

/** Serves the refund methods of the gateway. */
export function createMerchantRefundRpc(deps: RequestRefundDeps & RefundCommentDeps): RpcService {
  const summarize = createSummary(deps.refunds, REFUND_STATUSES.names)
  return rpcService(MerchantRefundService, {
    requestRefund: by(['gateway'], async (request) => ({
      refund: refundToProto(await requestRefund(deps, requestRefundRequestFromProto(request))),
    })),
    findRefund: by(['gateway'], async (request) => ({
      refund: refundToProto(await findRefund(deps.refunds, refundQueryFromProto(request))),
    })),
    summarizeRefunds: by(['gateway'], async (request) =>
      summaryToProto(
        await summarize({ ...scopeFromProto(request), ...createdRange(request) }),
        REFUND_STATUSES,
      ),
    ),
    listMerchantRefunds: by(['gateway'], async (request) => {
      const { items, next_cursor } = await listRefunds(deps, refundFilterFromProto(request), request)
      return { refunds: items.map(refundToProto), nextCursor: next_cursor }
    }),
    createRefundComment: by(['gateway'], async (request) => {
      const comment = await commentRefund(deps, refundCommentFromProto(request))
      return { comment: refundCommentToProto(comment) }
    }),
    listMerchantRefundComments: by(['gateway'], async (request) => {
      const query = refundQueryFromProto(request)
      const { items, next_cursor } = await listRefundComments(deps, query, request)
      return { comments: items.map(refundCommentToProto), nextCursor: next_cursor }
    }),
  })
}
