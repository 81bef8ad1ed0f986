import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { uuid } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import { COMMENT_COMPONENTS, COMMENT_RESULT, toCommentResult } from './comment-result.ts'
import { defineMethod } from './method.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { COMMENT_BODY, MUTATION_ENVELOPE, resourceIdentifiers } from './support-fields.ts'

/** `ticket.comment.update`: replaces the text of a comment of the merchant within an hour of its creation. */
export const ticketCommentUpdate = defineMethod({
  name: 'ticket.comment.update',
  scope: 'tickets.comment',
  default_quota: 30,
  summary: 'Replaces the text of your comment',
  description:
    'Possible for one hour after the comment was created, and 100 times at most; then it is 10004. A comment of support ' +
    'is 10003, and one that does not exist 10001. Repeating exactly the same request changes nothing and shows the ' +
    'comment as it is by then.',
  example: {
    method: 'ticket.comment.update',
    operation_id: 'edit-comment-1',
    params: {
      ticket: { c_id: 'ticket-1' },
      comment_h_id: '0199c0de-0000-7000-8000-000000000001',
      body: 'It happened again today, twice.',
    },
  },
  request: object({
    ...MUTATION_ENVELOPE,
    params: object({
      ticket: resourceIdentifiers(),
      comment_h_id: described('The `h_id` of the comment.', uuid()),
      body: COMMENT_BODY,
    }),
  }),
  result: COMMENT_RESULT,
  result_components: COMMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ operation_id, params }, caller) => {
      const { ticket, comment_h_id, body } = params
      const { comment } = await support.updateTicketComment({
        ...ownerOf(caller),
        ticket: resourceReference(ticket),
        operationId: operation_id,
        payloadHash: payloadHash(params),
        commentId: comment_h_id,
        body,
      })
      return toCommentResult(comment)
    }
  },
})
