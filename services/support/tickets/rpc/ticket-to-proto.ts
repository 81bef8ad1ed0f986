import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { TicketSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import type { Ticket } from '../domain/ticket.ts'
import { attachmentToProto } from './attachment-to-proto.ts'

/** The ticket as RPCs carry it. */
export function ticketToProto(ticket: Ticket): MessageInitShape<typeof TicketSchema> {
  const { payment } = ticket
  return {
    ticketId: ticket.ticket_id,
    merchantId: ticket.merchant_id,
    environment: environmentToProto(ticket.environment),
    cId: ticket.c_id,
    category: TICKET_CATEGORIES.toProto(ticket.category),
    status: TICKET_STATUSES.toProto(ticket.status),
    priority: TICKET_PRIORITIES.toProto(ticket.priority),
    title: ticket.title,
    description: ticket.description,
    ...(payment && {
      payment: { paymentId: payment.payment_id, cId: payment.c_id, hId: payment.h_id },
    }),
    attachments: ticket.attachments.map(attachmentToProto),
    slaDeadlineTime: timestampFromDate(ticket.sla_deadline),
    createTime: timestampFromDate(ticket.created_at),
    updateTime: timestampFromDate(ticket.updated_at),
    lastActivityTime: timestampFromDate(ticket.last_activity_at),
  }
}
