import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { RefundCommentSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import type { RefundComment } from '../domain/refund-comment.ts'

/** Maps a comment on a refund. */
export function refundCommentToProto(comment: RefundComment): MessageInitShape<typeof RefundCommentSchema> {
  return {
    commentId: comment.comment_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    body: comment.body,
    createTime: timestampFromDate(comment.created_at),
  }
}
