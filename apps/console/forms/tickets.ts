import { type Ticket, TicketStatus, TicketStatusSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { wordsOfEnum } from '../values/filter-tokens.ts'
import { type Act, act } from './act.ts'
import { eraseTicket } from './erasure.ts'

const ENDED: readonly TicketStatus[] = [TicketStatus.CLOSED, TicketStatus.CANCELED]

/** Whether a ticket has not ended. */
export const isLive = ({ status }: Ticket): boolean => !ENDED.includes(status)

/** What can be done with a ticket. */
export const ticket_acts: readonly Act<Ticket>[] = [
  act({
    name: 'Answer',
    method: TicketService.method.answerTicket,
    isOffered: isLive,
    effects: () => ['The merchant reads the answer, and gets a callback. An internal note is for you only.'],
    fields: () => [
      { name: 'body', label: 'Text', kind: 'lines' },
      {
        name: 'internal',
        label: 'Internal note',
        kind: 'choice',
        choices: ['no', 'yes'],
        initial: 'no',
      },
    ],
    request: ({ ticketId }: Ticket) => ({ ticketId }),
  }),
  act({
    name: 'Move',
    method: TicketService.method.moveTicket,
    isOffered: isLive,
    effects: () => ['The ticket gets another status. The merchant gets a callback.'],
    fields: () => [
      { name: 'status', choices: wordsOfEnum(TicketStatusSchema).filter((word) => word !== 'open') },
    ],
    request: ({ ticketId }: Ticket) => ({ ticketId }),
  }),
  act({
    name: 'Set priority',
    method: TicketService.method.setTicketPriority,
    isOffered: isLive,
    effects: () => ['The ticket gets another priority, and with it another deadline.'],
    fields: () => [{ name: 'priority' }],
    request: ({ ticketId }: Ticket) => ({ ticketId }),
  }),
  act({
    name: 'Delete',
    method: TicketService.method.deleteTicket,
    effects: (_ticket: Ticket) => [
      'The ticket and its comments disappear for the merchant and for you. It cannot be undone.',
    ],
    request: ({ ticketId }) => ({ ticketId }),
    confirm: () => 'delete',
  }),
  eraseTicket,
]
