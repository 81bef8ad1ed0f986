import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { slaDeadline, type Ticket, withListing } from './ticket.ts'
import { announce } from './ticket-event.ts'

/** What a merchant decides about a new ticket. */
export type NewTicketFields = MerchantScope &
  Pick<Ticket, 'c_id' | 'title' | 'description' | 'category' | 'priority'>

/** Makes a new ticket, which is open. The service adds its id, its payment and its files. */
export function newTicket(
  fields: NewTicketFields,
  { ticket_id, payment, attachments }: Pick<Ticket, 'ticket_id' | 'payment' | 'attachments'>,
  at: Date,
): Ticket {
  const { merchant_id, environment, c_id, title, description, category, priority } = fields
  const ticket: Ticket = {
    merchant_id,
    environment,
    subject_id: payment?.payment_id ?? ticket_id,
    ticket_id,
    c_id,
    category,
    status: 'open',
    priority,
    title,
    description,
    payment,
    attachments,
    sla_deadline: slaDeadline(priority, at),
    created_at: at,
    updated_at: at,
    last_activity_at: at,
    event_counts: {},
    edits: [],
    reopens: [],
    effects: [],
  }
  return announce(withListing(ticket), { event: 'ticket.created', at })
}

/** Far more deleted tickets than one payment has within the minutes until the claims of their files are checked (F7). */
const REPLACED_MAX = 100

/**
 * The new ticket of a payment whose earlier ticket was deleted: it takes its place in the store, and with it the effects
 * of the earlier ticket that have not run yet. It names the earlier ticket, which is found nowhere else.
 */
export function replaceDeleted(deleted: Ticket, ticket: Ticket): Ticket {
  const { replaced_ticket_ids = [], ticket_id } = deleted
  return {
    ...ticket,
    replaced_ticket_ids: [...replaced_ticket_ids, ticket_id].slice(-REPLACED_MAX),
    effects: [...deleted.effects, ...ticket.effects],
  }
}
