import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { MUTATION_ENVELOPE, resourceIdentifiers } from './support-fields.ts'
import { TICKET_DESCRIPTION } from './ticket-fields.ts'
import { TICKET_COMPONENTS, TICKET_RESULT, toTicketResult } from './ticket-result.ts'

/** `ticket.description.update`: replaces the description within an hour of the creation. */
export const ticketDescriptionUpdate = defineMethod({
  name: 'ticket.description.update',
  scope: 'tickets.update',
  default_quota: 30,
  summary: 'Replaces the description of a ticket',
  description:
    'Possible for one hour after the creation, and 100 times at most; then it is 10004. Repeating exactly the same ' +
    'request changes nothing and shows the ticket as it is by then.',
  example: {
    method: 'ticket.description.update',
    operation_id: 'edit-1',
    params: { identifiers: { c_id: 'ticket-1' }, description: 'What is the highest amount of a withdrawal?' },
  },
  request: object({
    ...MUTATION_ENVELOPE,
    params: object({ identifiers: resourceIdentifiers(), description: TICKET_DESCRIPTION }),
  }),
  result: TICKET_RESULT,
  result_components: TICKET_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ operation_id, params }, caller) => {
      const { ticket } = await support.updateTicketDescription({
        ...ownerOf(caller),
        ticket: resourceReference(params.identifiers),
        operationId: operation_id,
        payloadHash: payloadHash(params),
        description: params.description,
      })
      return toTicketResult(ticket)
    }
  },
})
