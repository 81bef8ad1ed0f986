import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { RefundCommentSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { checkLine, checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import { answer, listAllComments } from '../../comments/use-cases/comments.ts'
import { COMMENT_MAX, REASON_MAX } from '../../domain/support-resource.ts'
import { operatorListFromProto } from '../../rpc/request-from-proto.ts'
import { listForOperator } from '../../use-cases/list-for-operator.ts'
import { type Refund, refundChangeFromProto, refundToProto } from '../domain/refund.ts'
import { REFUND_LIST } from '../store/refunds.ts'
import { refundComments } from '../use-cases/comment-refund.ts'
import { getRefund } from '../use-cases/find-refund.ts'
import { type RefundDeps, recordRefundChange } from '../use-cases/record-refund-change.ts'
import { approveRefund, closeRefund } from '../use-cases/request-refund.ts'

/** Serves the operator's decisions about refunds, and the reports of payments. */
export function createRefundRpc(deps: RefundDeps): RpcService {
  const comments = refundComments(deps)
  const close = async (
    status: 'rejected' | 'canceled',
    { refundId, reason }: { readonly refundId: string; readonly reason: string },
  ) => {
    const refund_id = requiredId(refundId, 'refund_id')
    const checked = checkText(reason, 'reason', REASON_MAX)
    return { refund: refundToProto(await closeRefund(deps, refund_id, status, checked)) }
  }
  return rpcService(RefundService, {
    approveRefund: by(['backoffice'], async ({ refundId }) => ({
      refund: refundToProto(await approveRefund(deps, requiredId(refundId, 'refund_id'))),
    })),
    rejectRefund: by(['backoffice'], (request) => close('rejected', request)),
    cancelRefund: by(['backoffice'], (request) => close('canceled', request)),
    getRefund: by(['backoffice', 'internal'], async ({ refundId, asMerchant }) => ({
      refund: shownRefund(await getRefund(deps.refunds, requiredId(refundId, 'refund_id')), asMerchant),
    })),
    listRefunds: by(['backoffice', 'internal'], async (request) => {
      const { filter, page } = operatorListFromProto(request, REFUND_STATUSES)
      const listed = await listForOperator({ ...REFUND_LIST, collection: deps.refunds }, filter, page)
      const refunds = listed.items.map((refund) => shownRefund(refund, request.asMerchant))
      return { refunds, nextPageToken: listed.next_page_token }
    }),
    answerRefund: by(['backoffice'], async ({ refundId, body, operationId }) => {
      const comment = await answer(comments, {
        thread_id: requiredId(refundId, 'refund_id'),
        body: checkText(requiredText(body, 'body'), 'body', COMMENT_MAX),
        is_internal: false,
        operation_id: checkLine(operationId, 'operation_id'),
      })
      return { comment: refundCommentToProto(comment) }
    }),
    listRefundComments: by(
      ['backoffice', 'internal'],
      async ({ refundId, pageSize: page_size, pageToken: page_token }) => {
        const refund_id = requiredId(refundId, 'refund_id')
        const page = await listAllComments(comments, refund_id, { page_size, page_token })
        return { comments: page.items.map(refundCommentToProto), nextPageToken: page.next_page_token }
      },
    ),
    recordRefundChange: by(['payments'], async ({ change }) => {
      await recordRefundChange(deps, refundChangeFromProto(change))
      return {}
    }),
  })
}

/** Maps a refund, `as_merchant` without what its merchant does not see. */
function shownRefund(refund: Refund, as_merchant: boolean) {
  return refundToProto(as_merchant ? { ...refund, operator_reason: '' } : refund)
}

/** Maps a comment on a refund. */
export function refundCommentToProto(comment: Comment): MessageInitShape<typeof RefundCommentSchema> {
  return {
    commentId: comment.comment_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    body: comment.body,
    createTime: timestampFromDate(comment.created_at),
  }
}
