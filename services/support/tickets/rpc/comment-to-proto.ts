import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { TicketCommentSchema } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import type { Comment } from '../domain/comment.ts'
import { attachmentToProto } from './attachment-to-proto.ts'

/** The comment as RPCs carry it. */
export function commentToProto(comment: Comment): MessageInitShape<typeof TicketCommentSchema> {
  return {
    commentId: comment.comment_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    body: comment.body,
    attachments: comment.attachments.map(attachmentToProto),
    createTime: timestampFromDate(comment.created_at),
    updateTime: timestampFromDate(comment.updated_at),
    internal: comment.shown_at === undefined,
  }
}
