import type { TicketPriority } from '#lib/contract/ticket.ts'

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
