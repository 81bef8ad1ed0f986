import { TICKET_STATUSES, type TicketStatus } from '#lib/contract/ticket.ts'
import { type SummaryRequest, summarize } from '../../use-cases/summarize.ts'
import { keyOfTicket } from '../store/tickets.ts'
import type { TicketDeps } from './deps.ts'

/** The merchant's `ticket.summary`: the number of tickets per status (S11). */
export function summarizeTickets(
  { tickets: collection, ticket_counts: counts }: Pick<TicketDeps, 'tickets' | 'ticket_counts'>,
  request: SummaryRequest,
): Promise<Readonly<Record<TicketStatus, number>>> {
  return summarize({ collection, counts, keyOf: keyOfTicket, statuses: TICKET_STATUSES.names }, request)
}
