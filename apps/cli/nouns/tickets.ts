import type { Noun } from './noun.ts'

/** `multihub tickets`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/support/v1/ticket_service_pb.ts')).TicketService,
  verbs: [
    {
      name: 'list',
      about: 'list tickets',
      rpc: 'listTickets',
      columns: ['ticket_id', 'status', 'priority', 'title', 'sla_deadline_time', 'merchant_id'],
      next: 'tickets comments ID, then answer ID --body "..."',
    },
    { name: 'show', about: 'show a ticket', rpc: 'getTicket', id: 'ticket_id' },
    {
      name: 'comments',
      about: 'list the comments of a ticket',
      rpc: 'listTicketComments',
      id: 'ticket_id',
      columns: ['create_time', 'author', 'internal', 'body'],
    },
    {
      name: 'answer',
      about: 'write to the merchant, or a note with --internal',
      rpc: 'answerTicket',
      id: 'ticket_id',
    },
    { name: 'move', about: 'move a ticket to another status', rpc: 'moveTicket', id: 'ticket_id' },
    {
      name: 'set-priority',
      about: 'set the priority of a ticket',
      rpc: 'setTicketPriority',
      id: 'ticket_id',
    },
    {
      name: 'delete',
      about: 'delete a ticket with its comments; its files stay',
      rpc: 'deleteTicket',
      id: 'ticket_id',
      confirms: 'the ticket and its comments are destroyed',
    },
  ],
}
