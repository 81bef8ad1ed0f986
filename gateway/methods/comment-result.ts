import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { TicketComment } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { componentRef, type JsonSchema, record } from '../openapi/json-schema.ts'
import { TICKET_ATTACHMENT, toAttachmentResult } from './ticket-result.ts'

/** The public comment (spec: Ticket comment). It says which side wrote it, never who. */
export function toCommentResult(comment: TicketComment | undefined): unknown {
  const { createTime, updateTime } = comment ?? {}
  if (!comment || !createTime || !updateTime)
    throw new TypeError('support answered without a comment or its times')
  return {
    identifiers: { h_id: comment.commentId },
    author: COMMENT_AUTHORS.fromProtoOrThrow(comment.author, 'author'),
    body: comment.body,
    attachments: comment.attachments.map(toAttachmentResult),
    created_at: timestampDate(createTime).toISOString(),
    updated_at: timestampDate(updateTime).toISOString(),
  }
}

const COMMENT = record({
  identifiers: record({ h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' } }),
  author: { type: 'string', enum: COMMENT_AUTHORS.names },
  body: { type: 'string' },
  attachments: { type: 'array', items: componentRef('TicketAttachment'), maxItems: 10 },
  created_at: { type: 'string', format: 'date-time' },
  updated_at: { type: 'string', format: 'date-time', description: 'When its text last changed.' },
})

/** The schema of a comment. */
export const COMMENT_RESULT = componentRef('TicketComment')

/** The schemas that `COMMENT_RESULT` refers to. */
export const COMMENT_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  TicketComment: COMMENT,
  TicketAttachment: TICKET_ATTACHMENT,
}
