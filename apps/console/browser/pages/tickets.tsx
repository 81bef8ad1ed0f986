import type { ReactNode } from 'react'
import { type Ticket, TicketSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const tickets: ListSpec<Ticket> = {
  path: '/tickets',
  title: 'Tickets',
  question: 'What merchants ask, and what waits for an answer. due:yes sorts by the deadline.',
  desc: TicketSchema,
  list: TicketService.method.listTickets,
  items: 'tickets',
  id: 'ticketId',
  folder: 'tickets',
  columns: [
    'ticket_id',
    'title',
    'status',
    'priority',
    'category',
    'merchant_id',
    'sla_deadline_time',
    'last_activity_time',
  ],
  filters: {
    status: 'statuses',
    priority: 'priorities',
    merchant: 'merchant_id',
    env: 'environment',
    payment: 'payment_id',
    created: 'created_from',
    due: 'by_deadline',
    oldest_first: 'oldest_first',
  },
  empty: 'No merchant has opened a ticket.',
}

/** The list of tickets. */
export function TicketsPage(): ReactNode {
  return <ListPage spec={tickets} />
}
