import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { resourceIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'
import { TICKET_COMPONENTS, TICKET_RESULT, toTicketResult } from './ticket-result.ts'

/** `ticket.get`: shows a ticket of the merchant. */
export const ticketGet = defineMethod({
  name: 'ticket.get',
  scope: 'tickets.read',
  default_quota: 120,
  summary: 'Shows a ticket',
  description: 'Give either `c_id` or `h_id`. A ticket that you do not have is 10001.',
  example: { method: 'ticket.get', params: { identifiers: { c_id: 'ticket-1' } } },
  request: object({ ...SUPPORT_ENVELOPE, params: object({ identifiers: resourceIdentifiers() }) }),
  result: TICKET_RESULT,
  result_components: TICKET_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ params }, caller) => {
      const { ticket } = await support.findTicket({
        ...ownerOf(caller),
        ticket: resourceReference(params.identifiers),
      })
      return toTicketResult(ticket)
    }
  },
})
