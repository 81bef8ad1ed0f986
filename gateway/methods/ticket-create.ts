import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { PAYMENT_CATEGORIES, TICKET_CATEGORIES, TICKET_PRIORITIES } from '#lib/contract/ticket.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { text, uuid, word } from '../json/scalars.ts'
import { described, list, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { MERCHANT_REFERENCE } from './request-fields.ts'
import { credentialPolicy, ownerOf } from './request-to-proto.ts'
import { SUPPORT_ENVELOPE } from './support-fields.ts'
import { ATTACHMENTS_MAX, TICKET_DESCRIPTION, TICKET_TITLE } from './ticket-fields.ts'
import { TICKET_COMPONENTS, TICKET_RESULT, toTicketResult } from './ticket-result.ts'

/** The priorities that a merchant can ask for (S2). */
const REQUESTED_PRIORITIES = TICKET_PRIORITIES.names.filter((name) => name !== 'urgent')

/** `ticket.create`: opens a conversation with the operator, once per `c_id` (S2, S3). */
export const ticketCreate = defineMethod({
  name: 'ticket.create',
  scope: 'tickets.create',
  default_quota: 30,
  summary: 'Opens a ticket',
  description:
    'The categories `payment_issue`, `dispute` and `refund_request` need a payment of yours, and `payment_issue` also ' +
    'needs a file. A payment has one ticket: a second one is 10002, and `details` has the `identifiers` and the ' +
    '`status` of the first. The `c_id` is the idempotency key, permanently: repeating exactly the same request shows ' +
    'the ticket as it is by then, another request with the same `c_id` is 1013. A ticket of the category ' +
    '`refund_request` moves no money.',
  example: {
    method: 'ticket.create',
    params: {
      identifiers: { c_id: 'ticket-1' },
      title: 'A question about limits',
      description: 'What is the highest amount of a deposit?',
      category: 'question',
    },
  },
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object(
      {
        identifiers: object({ c_id: described('Your own reference.', text(MERCHANT_REFERENCE)) }),
        title: text(TICKET_TITLE),
        description: TICKET_DESCRIPTION,
        category: word(TICKET_CATEGORIES.names),
        priority: described('`medium` without one.', optional(word(REQUESTED_PRIORITIES))),
        payment: optional(
          object({ c_id: described('Your own reference of the payment.', text(MERCHANT_REFERENCE)) }),
        ),
        attachment_ids: described(
          'The `h_id` of uploaded files that are `ready`.',
          optional(list(uuid(), { max: ATTACHMENTS_MAX })),
        ),
      },
      { required_for: { field: 'payment', of: 'category', words: PAYMENT_CATEGORIES } },
    ),
  }),
  result: TICKET_RESULT,
  result_components: TICKET_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ params }, caller) => {
      const { identifiers, ...payload } = params
      const { title, description, category, priority, payment, attachment_ids = [] } = payload
      const { ticket } = await support.createTicket({
        ...ownerOf(caller),
        policy: credentialPolicy(caller),
        cId: identifiers.c_id,
        payloadHash: payloadHash(payload),
        title,
        description,
        category: TICKET_CATEGORIES.toProto(category),
        ...(priority && { priority: TICKET_PRIORITIES.toProto(priority) }),
        ...(payment && { paymentCId: payment.c_id }),
        attachmentIds: [...attachment_ids],
      })
      return toTicketResult(ticket)
    }
  },
})
