import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Ticket, TicketAttachment } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { componentRef, type JsonSchema, record } from '../openapi/json-schema.ts'

/** The public ticket (spec: Ticket object). It holds nothing about staff and nothing internal. */
export function toTicketResult(ticket: Ticket | undefined): unknown {
  const { slaDeadlineTime, createTime, updateTime, lastActivityTime } = ticket ?? {}
  if (!ticket || !slaDeadlineTime || !createTime || !updateTime || !lastActivityTime)
    throw new TypeError('support answered without a ticket or its times')
  const { payment } = ticket
  return {
    identifiers: { c_id: ticket.cId, h_id: ticket.ticketId },
    category: TICKET_CATEGORIES.fromProtoOrThrow(ticket.category, 'category'),
    status: TICKET_STATUSES.fromProtoOrThrow(ticket.status, 'status'),
    priority: TICKET_PRIORITIES.fromProtoOrThrow(ticket.priority, 'priority'),
    title: ticket.title,
    description: ticket.description,
    ...(payment && { payment: { h_id: payment.hId } }),
    reference: null,
    sla_deadline: timestampDate(slaDeadlineTime).toISOString(),
    attachments: ticket.attachments.map(toAttachmentResult),
    created_at: timestampDate(createTime).toISOString(),
    updated_at: timestampDate(updateTime).toISOString(),
    last_activity_at: timestampDate(lastActivityTime).toISOString(),
  }
}

/** A file as its ticket or comment shows it (spec: Ticket object). */
export function toAttachmentResult(attachment: TicketAttachment): unknown {
  const { attachmentId, name, mimeType, sizeBytes, createTime } = attachment
  if (!createTime) throw new TypeError('support answered with a file without its time')
  return {
    identifiers: { h_id: attachmentId },
    name,
    mime_type: mimeType,
    size: Number(sizeBytes),
    created_at: timestampDate(createTime).toISOString(),
  }
}

const instant = (description: string): JsonSchema => ({ type: 'string', format: 'date-time', description })

const TICKET = record(
  {
    identifiers: record({
      c_id: { type: 'string', description: 'Your own reference.' },
      h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' },
    }),
    category: { type: 'string', enum: TICKET_CATEGORIES.names },
    status: { type: 'string', enum: TICKET_STATUSES.names },
    priority: {
      type: 'string',
      enum: TICKET_PRIORITIES.names,
      description: 'Only the operator sets `urgent`.',
    },
    title: { type: 'string' },
    description: { type: 'string' },
    payment: record({ h_id: { type: 'string', description: 'The `h_id` of the payment.' } }),
    reference: { type: 'null' },
    sla_deadline: instant('When the operator should have handled the ticket.'),
    attachments: { type: 'array', items: componentRef('TicketAttachment'), maxItems: 10 },
    created_at: instant('When the ticket was created.'),
    updated_at: instant('When its status, priority or description last changed.'),
    last_activity_at: instant('When the ticket last changed or got a comment.'),
  },
  ['payment'],
)

/** The schema of a file of a ticket or comment. */
export const TICKET_ATTACHMENT = record({
  identifiers: record({ h_id: { type: 'string', format: 'uuid' } }),
  name: { type: 'string' },
  mime_type: { type: 'string' },
  size: { type: 'integer', description: 'In bytes.' },
  created_at: { type: 'string', format: 'date-time' },
})

/** The schema of a ticket. */
export const TICKET_RESULT = componentRef('Ticket')

/** The schemas that `TICKET_RESULT` refers to. */
export const TICKET_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  Ticket: TICKET,
  TicketAttachment: TICKET_ATTACHMENT,
}
