import type { TicketCategory, TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'
import type { CommentThread } from '../../comments/domain/comment.ts'
import type { Erasable } from '../../domain/erasure.ts'
import type { AttachedFile, PaymentReference } from '../../domain/support-resource.ts'

/** A conversation between a merchant and the operator, as it is stored. `withListing` derives the optional times. */
export interface Ticket extends CommentThread, Erasable {
  /**
   * The payment that the ticket is about, or the ticket itself without one. It is part of the key, so a payment has one
   * ticket at most, by one write (S2).
   */
  readonly subject_id: string
  /** Its public `h_id`. */
  readonly ticket_id: string
  readonly c_id: string
  readonly category: TicketCategory
  readonly status: TicketStatus
  readonly priority: TicketPriority
  readonly title: string
  readonly description: string
  readonly payment?: PaymentReference | undefined
  readonly attachments: readonly AttachedFile[]
  readonly sla_deadline: Date
  readonly created_at: Date
  /** When its status, priority or description last changed. */
  readonly updated_at: Date
  /** When it last changed or got a comment that the merchant sees. */
  readonly last_activity_at: Date
  /** The number of its events so far, by their names (S12). */
  readonly event_counts: { readonly [event: string]: number }
  /** The ids of the operations that edited the description or reopened the ticket, so that none of them acts twice. */
  readonly edits: readonly string[]
  readonly reopens: readonly string[]
  /** Set in a deleted ticket, which exists for no caller. A new ticket of the same payment takes its place. */
  readonly deleted_at?: Date
  /**
   * The newest of the deleted tickets of the payment whose place it took, the last one at the end: their files stay used
   * (F7).
   */
  readonly replaced_ticket_ids?: readonly string[]
  /** The creation, while lists show the ticket. The index entries of a deleted ticket are gone. */
  readonly listed_at?: Date | undefined
  /** The deadline, while the ticket is unresolved. */
  readonly open_deadline?: Date | undefined
}

/** The statuses of a ticket that still waits for an end. */
export const UNRESOLVED: readonly TicketStatus[] = ['open', 'in_progress', 'waiting_customer', 'on_hold']

/** Whether the ticket still waits for an end. */
export function isUnresolved({ status }: Pick<Ticket, 'status'>): boolean {
  return UNRESOLVED.includes(status)
}

/**
 * Derives the fields by which lists find the ticket. Every change goes through this function except a new comment, which
 * moves a ticket only between two statuses that are not resolved.
 */
export function withListing(ticket: Ticket): Ticket {
  const { deleted_at, created_at, sla_deadline } = ticket
  if (deleted_at) return { ...ticket, listed_at: undefined, open_deadline: undefined }
  return {
    ...ticket,
    listed_at: created_at,
    open_deadline: isUnresolved(ticket) ? sla_deadline : undefined,
  }
}

/** Every change of status that the operator can make (S4). */
const OPERATOR_TRANSITIONS: Readonly<Record<TicketStatus, readonly TicketStatus[]>> = {
  open: ['in_progress', 'waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  in_progress: ['waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  waiting_customer: ['in_progress', 'on_hold', 'resolved', 'closed', 'canceled'],
  on_hold: ['in_progress', 'waiting_customer', 'resolved', 'closed', 'canceled'],
  resolved: ['closed'],
  closed: [],
  canceled: [],
}

/** Whether the operator can move a ticket between two statuses (S4). */
export function canMove(from: TicketStatus, to: TicketStatus): boolean {
  return OPERATOR_TRANSITIONS[from].includes(to)
}

/** Whether the merchant can open a ticket of this status again (S4). */
export function canReopen(status: TicketStatus): boolean {
  return status === 'resolved' || status === 'closed'
}

const HOUR_MS = 3_600_000

/** The time within which a ticket of a priority must be handled (S5). */
const SLA_MS: Readonly<Record<TicketPriority, number>> = {
  urgent: 4 * HOUR_MS,
  high: 8 * HOUR_MS,
  medium: 24 * HOUR_MS,
  low: 72 * HOUR_MS,
}

/** When a ticket must be handled. The time runs from its creation, also when its priority changes later (S5). */
export function slaDeadline(priority: TicketPriority, created_at: Date): Date {
  return new Date(created_at.getTime() + SLA_MS[priority])
}
