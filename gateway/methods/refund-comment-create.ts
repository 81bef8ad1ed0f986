import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import {
  REFUND_COMMENT_COMPONENTS,
  REFUND_COMMENT_RESULT,
  toRefundCommentResult,
} from './refund-comment-result.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { COMMENT_BODY, MUTATION_ENVELOPE, resourceIdentifiers } from './support-fields.ts'

/** `refund.comment.create`: adds a comment to a refund, once per `operation_id` (S3). */
export const refundCommentCreate = defineMethod({
  name: 'refund.comment.create',
  scope: 'refunds.comment',
  default_quota: 30,
  summary: 'Comments on a refund',
  description: 'The operator reads it and can answer. A comment cannot be changed, and moves no money.',
  example: {
    method: 'refund.comment.create',
    operation_id: 'comment-1',
    params: { refund: { c_id: 'refund-1' }, body: 'The customer asks when the money comes.' },
  },
  request: object({
    ...MUTATION_ENVELOPE,
    params: object({ refund: resourceIdentifiers(), body: COMMENT_BODY }),
  }),
  result: REFUND_COMMENT_RESULT,
  result_components: REFUND_COMMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ operation_id, params }, caller) => {
      const { comment } = await support.createRefundComment({
        ...ownerOf(caller),
        operationId: operation_id,
        payloadHash: payloadHash(params),
        refund: resourceReference(params.refund),
        body: params.body,
      })
      return toRefundCommentResult(comment)
    }
  },
})
