import {
  MerchantRefundService,
  type RequestRefundRequest as RequestRefundRequestProto,
} from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { createComment, listComments } from '../../comments/use-cases/comments.ts'
import {
  filterFromProto,
  mutationFromProto,
  paymentFilter,
  policyFromProto,
  queryFromProto,
  serveSummary,
} from '../../rpc/request-from-proto.ts'
import { listResources } from '../../use-cases/list-resources.ts'
import { refundToProto } from '../domain/refund.ts'
import { REFUND_LIST } from '../store/refunds.ts'
import { refundComments } from '../use-cases/comment-refund.ts'
import { findRefund } from '../use-cases/find-refund.ts'
import type { RefundDeps } from '../use-cases/record-refund-change.ts'
import { type RequestRefundRequest, requestRefund } from '../use-cases/request-refund.ts'
import { refundCommentToProto } from './refund-service.ts'

/** Serves the refund methods of the gateway. Throws 1005 for a missing field and 9000 for an unknown status. */
export function createMerchantRefundRpc(deps: RefundDeps): RpcService {
  const comments = refundComments(deps)
  const list = { ...REFUND_LIST, collection: deps.refunds, keyring: deps.keys.cursor }
  return rpcService(MerchantRefundService, {
    requestRefund: by(['gateway'], async (request) => ({
      refund: refundToProto(await requestRefund(deps, requestFromProto(request))),
    })),
    findRefund: by(['gateway'], async (request) => {
      const query = queryFromProto(request, request.refund, 'refund')
      return { refund: refundToProto(await findRefund(deps.refunds, query)) }
    }),
    summarizeRefunds: by(['gateway'], serveSummary(deps.refunds, REFUND_STATUSES)),
    listMerchantRefunds: by(['gateway'], async (request) => {
      const filter = filterFromProto(request, REFUND_STATUSES)
      const { items, next_cursor } = await listResources(list, filter, request)
      return { refunds: items.map(refundToProto), nextCursor: next_cursor }
    }),
    createRefundComment: by(['gateway'], async (request) => {
      const comment = await createComment(comments, {
        ...mutationFromProto(request),
        thread: queryFromProto(request, request.refund, 'refund'),
        body: requiredText(request.body, 'body'),
        attachment_ids: [],
      })
      return { comment: refundCommentToProto(comment) }
    }),
    listMerchantRefundComments: by(['gateway'], async (request) => {
      const query = queryFromProto(request, request.refund, 'refund')
      const { items, next_cursor } = await listComments(comments, query, request)
      return { comments: items.map(refundCommentToProto), nextCursor: next_cursor }
    }),
  })
}

function requestFromProto(request: RequestRefundRequestProto): RequestRefundRequest {
  const payment = paymentFilter(request.payment)
  if (!payment) throw fieldError(1005, 'payment')
  return {
    ...scopeFromProto(request),
    policy: policyFromProto(request.policy),
    c_id: requiredText(request.cId, 'c_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    payment,
    amount: request.amount,
    reason: request.reason,
  }
}
