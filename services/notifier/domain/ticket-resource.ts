import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { TicketCommentSnapshot, TicketSnapshot } from '#gen/multihub/support/v1/ticket_event_pb.ts'
import {
  COMMENT_AUTHORS,
  TICKET_CATEGORIES,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
} from '#lib/contract/ticket.ts'

/** What a callback says about a ticket (S12): no text of the ticket or of a comment, and nothing about staff. */
export function ticketResource(ticket: TicketSnapshot): Readonly<Record<string, unknown>> {
  const { paymentHId, comment } = ticket
  return {
    identifiers: { c_id: ticket.cId, h_id: ticket.ticketId },
    category: TICKET_CATEGORIES.fromProtoOrThrow(ticket.category, 'category'),
    status: TICKET_STATUSES.fromProtoOrThrow(ticket.status, 'status'),
    priority: TICKET_PRIORITIES.fromProtoOrThrow(ticket.priority, 'priority'),
    ...(paymentHId === undefined ? {} : { payment: { h_id: paymentHId } }),
    ...(comment && { comment: commentResource(comment) }),
    created_at: instant(ticket.createTime),
    updated_at: instant(ticket.updateTime),
  }
}

function commentResource(comment: TicketCommentSnapshot): Readonly<Record<string, unknown>> {
  return {
    identifiers: { h_id: comment.commentId },
    author: COMMENT_AUTHORS.fromProtoOrThrow(comment.author, 'author'),
    created_at: instant(comment.createTime),
  }
}

function instant(time: Timestamp | undefined): string {
  if (!time) throw new TypeError('the event has a ticket without its times')
  return timestampDate(time).toISOString()
}
