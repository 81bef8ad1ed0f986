import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type {
  CreateRefundCommentRequest,
  ListMerchantRefundsRequest,
  RefundReference,
  RequestRefundRequest as RequestRefundRequestProto,
} from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import type { RefundCommentSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import type { ListRefundsRequest } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { REFUND_STATUSES, type RefundStatus } from '#lib/contract/public-support.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { paymentFilter, type ScopeFields, scopeFromProto } from '../../rpc/merchant-proto.ts'
import type { OperatorFilter, ResourceFilter } from '../../use-cases/list-resources.ts'
import type { RefundComment } from '../domain/refund-comment.ts'
import type { RefundQuery } from '../store/refunds.ts'
import type { RefundCommentRequest } from '../use-cases/comment-refund.ts'
import type { RequestRefundRequest } from '../use-cases/request-refund.ts'

/** Maps a question for a merchant's refund. Throws 1005 without an identifier. */
export function refundQueryFromProto(
  request: ScopeFields & { readonly refund?: RefundReference | undefined },
): RefundQuery {
  const { id } = request.refund ?? {}
  if (id?.case === undefined) throw fieldError(1005, 'refund')
  return { ...scopeFromProto(request), by: id.case === 'cId' ? 'c_id' : 'h_id', id: id.value }
}

/** Maps the request for a refund. Throws 1005 for a required field without a value. */
export function requestRefundRequestFromProto(request: RequestRefundRequestProto): RequestRefundRequest {
  const { policy, payment, amount, reason } = request
  if (payment.case === undefined) throw fieldError(1005, 'payment')
  return {
    ...scopeFromProto(request),
    policy: { service_ids: policy?.serviceIds ?? [], currencies: policy?.currencies ?? [] },
    c_id: requiredText(request.cId, 'c_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    payment_by: payment.case === 'paymentCId' ? 'c_id' : 'h_id',
    payment_ref: payment.value,
    ...(amount === undefined ? {} : { amount }),
    reason,
  }
}

/** Maps the filters of a merchant's list. Throws 9000 for an unknown status. */
export function refundFilterFromProto(request: ListMerchantRefundsRequest): ResourceFilter<RefundStatus> {
  return {
    ...scopeFromProto(request),
    statuses: REFUND_STATUSES.requiredEach(request.statuses, 'statuses'),
    ...paymentFilter(request.payment),
    ...createdRange(request),
  }
}

/** Maps the filters of the operator's list. Throws 9000 for an unknown enum value. */
export function operatorFilterFromProto(request: ListRefundsRequest): OperatorFilter {
  const environment = ENVIRONMENTS.optional(request.environment, 'environment')
  return {
    merchant_id: requiredId(request.merchantId, 'merchant_id'),
    ...(environment ? { environment } : {}),
    statuses: REFUND_STATUSES.requiredEach(request.statuses, 'statuses'),
  }
}

/** Maps a merchant's comment. Throws 1005 for a required field without a value. */
export function refundCommentFromProto(request: CreateRefundCommentRequest): RefundCommentRequest {
  return {
    ...scopeFromProto(request),
    key: requiredText(request.operationId, 'operation_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    refund: refundQueryFromProto(request),
    body: requiredText(request.body, 'body'),
  }
}

/** Maps a comment on a refund. */
export function refundCommentToProto(comment: RefundComment): MessageInitShape<typeof RefundCommentSchema> {
  return {
    commentId: comment.comment_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    body: comment.body,
    createTime: timestampFromDate(comment.created_at),
  }
}
