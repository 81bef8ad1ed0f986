import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { TicketCommentSchema } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import type { TicketSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { timesToProto } from '#lib/contract/proto-fields.ts'
import {
  COMMENT_AUTHORS,
  TICKET_CATEGORIES,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
} from '#lib/contract/ticket.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import { fileToProto } from '../../domain/support-resource.ts'
import type { Ticket } from '../domain/ticket.ts'

/** The ticket as RPCs carry it. */
export function ticketToProto(ticket: Ticket): MessageInitShape<typeof TicketSchema> {
  const { payment } = ticket
  return {
    ticketId: ticket.ticket_id,
    ...scopeToProto(ticket),
    cId: ticket.c_id,
    category: TICKET_CATEGORIES.toProto(ticket.category),
    status: TICKET_STATUSES.toProto(ticket.status),
    priority: TICKET_PRIORITIES.toProto(ticket.priority),
    title: ticket.title,
    description: ticket.description,
    payment: payment && { paymentId: payment.payment_id, cId: payment.c_id, hId: payment.h_id },
    attachments: ticket.attachments.map(fileToProto),
    slaDeadlineTime: timestampFromDate(ticket.sla_deadline),
    ...timesToProto(ticket),
    lastActivityTime: timestampFromDate(ticket.last_activity_at),
  }
}

/** The comment as RPCs carry it. */
export function commentToProto(comment: Comment): MessageInitShape<typeof TicketCommentSchema> {
  return {
    commentId: comment.comment_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    body: comment.body,
    attachments: comment.attachments.map(fileToProto),
    ...timesToProto(comment),
    internal: comment.shown_at === undefined,
  }
}
