import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { RefundCommentSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import type { Owner } from '../../domain/support-resource.ts'

/** A comment on a refund, as it is stored. It never changes. */
export interface RefundComment extends Owner {
  readonly refund_id: string
  /** Its public `h_id`. */
  readonly comment_id: string
  /** The side that wrote it. Nothing stored says which person it was. */
  readonly author: 'merchant' | 'support'
  readonly body: string
  readonly created_at: Date
}

/** The comment as RPCs carry it. */
export function refundCommentToProto(comment: RefundComment): MessageInitShape<typeof RefundCommentSchema> {
  return {
    commentId: comment.comment_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    body: comment.body,
    createTime: timestampFromDate(comment.created_at),
  }
}
