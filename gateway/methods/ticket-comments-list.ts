import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { object } from '../json/schema.ts'
import { pageOf } from '../openapi/json-schema.ts'
import { COMMENT_COMPONENTS, COMMENT_RESULT, toCommentResult } from './comment-result.ts'
import { defineMethod } from './method.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { PAGE_FIELDS, resourceIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'

/** `ticket.comments.list`: the comments of a ticket, oldest first (S6). */
export const ticketCommentsList = defineMethod({
  name: 'ticket.comments.list',
  scope: 'tickets.read',
  default_quota: 120,
  summary: 'Lists the comments of a ticket, oldest first',
  description: 'Shows your own comments and those of support.',
  example: { method: 'ticket.comments.list', params: { ticket: { c_id: 'ticket-1' }, limit: 50 } },
  request: object({ ...SUPPORT_ENVELOPE, params: object({ ticket: resourceIdentifiers(), ...PAGE_FIELDS }) }),
  result: pageOf(COMMENT_RESULT),
  result_components: COMMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ params }, caller) => {
      const { comments, nextCursor } = await support.listMerchantTicketComments({
        ...ownerOf(caller),
        ticket: resourceReference(params.ticket),
        limit: params.limit ?? 0,
        cursor: params.cursor ?? '',
      })
      return { items: comments.map(toCommentResult), next_cursor: nextCursor === '' ? null : nextCursor }
    }
  },
})
