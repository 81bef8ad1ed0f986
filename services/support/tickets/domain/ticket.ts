import type { TicketCategory, TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'
import type { AttachedFile } from '../../domain/attached-file.ts'
import type { CommentThread } from '../../domain/comment-thread.ts'
import type { MerchantScope, PaymentReference } from '../../domain/support-resource.ts'

/** A conversation between a merchant and the operator, as it is stored. `withListing` derives the optional times. */
export interface Ticket extends CommentThread, MerchantScope {
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
  readonly payment?: PaymentReference
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
  readonly listed_at?: Date
  /** The identifiers of the payment, marked by their kind, while lists show the ticket. */
  readonly payment_references?: readonly string[]
  /** The deadline, while the ticket is unresolved. */
  readonly open_deadline?: Date
}

/** How often a merchant can edit or reopen one ticket, or edit one comment: their operations are stored with it. */
export const OPERATIONS_MAX = 100

const UNRESOLVED: readonly TicketStatus[] = ['open', 'in_progress', 'waiting_customer', 'on_hold']

/** How the identifiers of a payment are written in `payment_references`. */
export function paymentReferenceKey(by: 'c_id' | 'h_id', id: string): string {
  return `${by}:${id}`
}

/**
 * Derives the fields by which lists find the ticket. Every change goes through this function except a new comment, which moves
 * a ticket only between two statuses that are not resolved.
 */
export function withListing(ticket: Ticket): Ticket {
  const { listed_at: _listed, payment_references: _references, open_deadline: _deadline, ...rest } = ticket
  if (ticket.deleted_at) return rest
  const { payment, created_at, sla_deadline, status } = ticket
  const references = payment && [
    paymentReferenceKey('c_id', payment.c_id),
    paymentReferenceKey('h_id', payment.h_id),
  ]
  return {
    ...rest,
    listed_at: created_at,
    ...(references ? { payment_references: references } : {}),
    ...(UNRESOLVED.includes(status) ? { open_deadline: sla_deadline } : {}),
  }
}
