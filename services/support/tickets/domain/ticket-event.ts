import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type TicketSnapshot, TicketSnapshotSchema } from '#gen/multihub/support/v1/ticket_event_pb.ts'
import type { EventName } from '#lib/contract/events.ts'
import { timesToProto } from '#lib/contract/proto-fields.ts'
import {
  COMMENT_AUTHORS,
  TICKET_CATEGORIES,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
} from '#lib/contract/ticket.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import { newSupportEvent } from '../../domain/support-event.ts'
import type { Ticket } from './ticket.ts'

/** The event of a change. */
interface TicketAnnouncement {
  readonly event: Extract<EventName, `ticket.${string}`>
  readonly at: Date
  /** The new comment, of the event of a comment. */
  readonly comment?: Comment
  /** The id of the effect that must be gone before the event. */
  readonly after?: string
}

/**
 * Returns the ticket with one more event, which has a snapshot of the ticket as it is now (S12). The number of the event
 * among the events of its name ends its id, because all but the first one can repeat.
 */
export function announce(ticket: Ticket, { event, at, comment, after }: TicketAnnouncement): Ticket {
  // The store permits no dots in the names of fields.
  const name = event.replaceAll('.', '_')
  const number = (ticket.event_counts[name] ?? 0) + 1
  const effect = newSupportEvent({
    scope: ticket,
    h_id: ticket.ticket_id,
    event,
    at,
    after,
    ...(event !== 'ticket.created' && { number, fact: `${number}:${at.getTime()}` }),
    resource: { case: 'ticket', value: snapshotOf(ticket, comment) },
  })
  return {
    ...ticket,
    event_counts: { ...ticket.event_counts, [name]: number },
    effects: [...ticket.effects, effect],
  }
}

function snapshotOf(ticket: Ticket, comment: Comment | undefined): TicketSnapshot {
  return create(TicketSnapshotSchema, {
    ticketId: ticket.ticket_id,
    cId: ticket.c_id,
    category: TICKET_CATEGORIES.toProto(ticket.category),
    status: TICKET_STATUSES.toProto(ticket.status),
    priority: TICKET_PRIORITIES.toProto(ticket.priority),
    paymentHId: ticket.payment?.h_id,
    ...timesToProto(ticket),
    comment: comment && {
      commentId: comment.comment_id,
      author: COMMENT_AUTHORS.toProto(comment.author),
      createTime: timestampFromDate(comment.created_at),
    },
  })
}
