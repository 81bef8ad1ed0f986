import type { Environment } from '#lib/contract/environment.ts'
import type { TicketCategory, TicketPriority } from '#lib/contract/ticket.ts'
import type { PaymentReference } from '../../domain/support-resource.ts'
import { slaDeadline } from './sla-deadline.ts'
import type { Ticket } from './ticket.ts'

/** What a merchant decides about a new ticket. */
export interface NewTicketFields {
  readonly merchant_id: string
  readonly environment: Environment
  readonly c_id: string
  readonly title: string
  readonly description: string
  readonly category: TicketCategory
  readonly priority: TicketPriority
}

/** Makes a new ticket, which is open. `payment` is the payment that it is about, if any. */
export function newTicket(
  fields: NewTicketFields,
  ticket_id: string,
  payment: PaymentReference | undefined,
  at: Date,
): Ticket {
  const { merchant_id, environment, c_id, title, description, category, priority } = fields
  return {
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
    ...(payment ? { payment } : {}),
    sla_deadline: slaDeadline(priority, at),
    created_at: at,
    updated_at: at,
    last_activity_at: at,
  }
}
