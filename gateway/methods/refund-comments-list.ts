import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { object } from '../json/schema.ts'
import { pageOf } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import {
  REFUND_COMMENT_COMPONENTS,
  REFUND_COMMENT_RESULT,
  toRefundCommentResult,
} from './refund-comment-result.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { PAGE_FIELDS, resourceIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'

/** `refund.comments.list`: the comments on a refund, oldest first (S6). */
export const refundCommentsList = defineMethod({
  name: 'refund.comments.list',
  scope: 'refunds.read',
  default_quota: 120,
  summary: 'Lists the comments on a refund, oldest first',
  description: 'Shows your own comments and those of support.',
  example: { method: 'refund.comments.list', params: { refund: { c_id: 'refund-1' }, limit: 50 } },
  request: object({ ...SUPPORT_ENVELOPE, params: object({ refund: resourceIdentifiers(), ...PAGE_FIELDS }) }),
  result: pageOf(REFUND_COMMENT_RESULT),
  result_components: REFUND_COMMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ params }, caller) => {
      const { comments, nextCursor } = await support.listMerchantRefundComments({
        ...ownerOf(caller),
        refund: resourceReference(params.refund),
        limit: params.limit ?? 0,
        cursor: params.cursor ?? '',
      })
      return {
        items: comments.map(toRefundCommentResult),
        next_cursor: nextCursor === '' ? null : nextCursor,
      }
    }
  },
})
