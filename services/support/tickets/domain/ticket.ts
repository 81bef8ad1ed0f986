import type { Environment } from '#lib/contract/environment.ts'
import type { TicketCategory, TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'
import type { PaymentReference } from '../../domain/support-resource.ts'

/** A conversation between a merchant and the operator, as it is stored. */
export interface Ticket {
  readonly merchant_id: string
  readonly environment: Environment
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
  readonly sla_deadline: Date
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_activity_at: Date
}
