import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { MUTATION_ENVELOPE, resourceIdentifiers } from './support-fields.ts'
import { TICKET_COMPONENTS, TICKET_RESULT, toTicketResult } from './ticket-result.ts'

/** `ticket.reopen`: opens a resolved or closed ticket again (S4). */
export const ticketReopen = defineMethod({
  name: 'ticket.reopen',
  scope: 'tickets.update',
  default_quota: 30,
  summary: 'Opens a resolved or closed ticket again',
  description:
    'The ticket becomes `open`. A ticket in any other status is 10003. Repeating exactly the same request changes nothing ' +
    'and shows the ticket as it is by then.',
  example: {
    method: 'ticket.reopen',
    operation_id: 'reopen-1',
    params: { identifiers: { c_id: 'ticket-1' } },
  },
  request: object({ ...MUTATION_ENVELOPE, params: object({ identifiers: resourceIdentifiers() }) }),
  result: TICKET_RESULT,
  result_components: TICKET_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ operation_id, params }, caller) => {
      const { ticket } = await support.reopenTicket({
        ...ownerOf(caller),
        ticket: resourceReference(params.identifiers),
        operationId: operation_id,
        payloadHash: payloadHash(params),
      })
      return toTicketResult(ticket)
    }
  },
})
