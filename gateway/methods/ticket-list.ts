import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { word } from '../json/scalars.ts'
import { list, object, optional, type Schema } from '../json/schema.ts'
import { pageOf } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import { createdBounds, ownerOf, resourceReference } from './request-to-proto.ts'
import { CREATED_FIELDS, PAGE_FIELDS, paymentIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'
import { TICKET_COMPONENTS, TICKET_RESULT, toTicketResult } from './ticket-result.ts'

/** `ticket.list`: the merchant's tickets, newest first (S6). */
export const ticketList = defineMethod({
  name: 'ticket.list',
  scope: 'tickets.read',
  default_quota: 120,
  summary: 'Lists your tickets, newest first',
  description:
    'Filters can be combined; a filter without words restricts nothing. A cursor is valid with the same filters only, ' +
    'else it is 9000. A page costs the same at any depth.',
  example: { method: 'ticket.list', params: { statuses: ['open', 'in_progress'], limit: 50 } },
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object({
      statuses: wordsOf(TICKET_STATUSES.names),
      categories: wordsOf(TICKET_CATEGORIES.names),
      priorities: wordsOf(TICKET_PRIORITIES.names),
      payment: optional(paymentIdentifiers()),
      ...CREATED_FIELDS,
      ...PAGE_FIELDS,
    }),
  }),
  result: pageOf(TICKET_RESULT),
  result_components: TICKET_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ params }, caller) => {
      const { statuses = [], categories = [], priorities = [], payment, limit, cursor } = params
      const { tickets, nextCursor } = await support.listMerchantTickets({
        ...ownerOf(caller),
        ...createdBounds(params),
        statuses: statuses.map(TICKET_STATUSES.toProto),
        categories: categories.map(TICKET_CATEGORIES.toProto),
        priorities: priorities.map(TICKET_PRIORITIES.toProto),
        ...(payment && { payment: resourceReference(payment) }),
        limit: limit ?? 0,
        cursor: cursor ?? '',
      })
      return { items: tickets.map(toTicketResult), next_cursor: nextCursor === '' ? null : nextCursor }
    }
  },
})

function wordsOf<const Word extends string>(words: readonly Word[]): Schema<readonly Word[], 'optional'> {
  return optional(list(word(words), { max: words.length }))
}
