import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { RefundComment } from '#gen/multihub/support/v1/refund_pb.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { componentRef, type JsonSchema, record } from '../openapi/json-schema.ts'

/** The public comment on a refund. It says which side wrote it, never who. */
export function toRefundCommentResult(comment: RefundComment | undefined): unknown {
  if (!comment?.createTime) throw new TypeError('support answered without a comment or its time')
  return {
    identifiers: { h_id: comment.commentId },
    author: COMMENT_AUTHORS.fromProtoOrThrow(comment.author, 'author'),
    body: comment.body,
    created_at: timestampDate(comment.createTime).toISOString(),
  }
}

const COMMENT = record({
  identifiers: record({ h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' } }),
  author: { type: 'string', enum: COMMENT_AUTHORS.names },
  body: { type: 'string' },
  created_at: { type: 'string', format: 'date-time' },
})

/** The schema of a comment on a refund. */
export const REFUND_COMMENT_RESULT = componentRef('RefundComment')

/** The schemas that `REFUND_COMMENT_RESULT` refers to. */
export const REFUND_COMMENT_COMPONENTS: Readonly<Record<string, JsonSchema>> = { RefundComment: COMMENT }
