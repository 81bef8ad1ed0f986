import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { uuid } from '../json/scalars.ts'
import { described, list, object, optional } from '../json/schema.ts'
import { COMMENT_COMPONENTS, COMMENT_RESULT, toCommentResult } from './comment-result.ts'
import { defineMethod } from './method.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { COMMENT_BODY, MUTATION_ENVELOPE, resourceIdentifiers } from './support-fields.ts'
import { ATTACHMENTS_MAX } from './ticket-fields.ts'

/** `ticket.comment.create`: adds a comment of the merchant to its ticket (S4). */
export const ticketCommentCreate = defineMethod({
  name: 'ticket.comment.create',
  scope: 'tickets.comment',
  default_quota: 30,
  summary: 'Adds a comment to a ticket',
  description:
    'A ticket that is `waiting_customer` becomes `in_progress`. A closed or canceled ticket is 10003: reopen a closed ' +
    'one first. Repeating exactly the same request adds nothing and shows the comment as it is by then.',
  example: {
    method: 'ticket.comment.create',
    operation_id: 'comment-1',
    params: { ticket: { c_id: 'ticket-1' }, body: 'It happened again today.' },
  },
  request: object({
    ...MUTATION_ENVELOPE,
    params: object({
      ticket: resourceIdentifiers(),
      body: COMMENT_BODY,
      attachment_ids: described(
        'The `h_id` of uploaded files that are `ready`.',
        optional(list(uuid(), { max: ATTACHMENTS_MAX })),
      ),
    }),
  }),
  result: COMMENT_RESULT,
  result_components: COMMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ operation_id, params }, caller) => {
      const { ticket, body, attachment_ids = [] } = params
      const { comment } = await support.createTicketComment({
        ...ownerOf(caller),
        ticket: resourceReference(ticket),
        operationId: operation_id,
        payloadHash: payloadHash(params),
        body,
        attachmentIds: [...attachment_ids],
      })
      return toCommentResult(comment)
    }
  },
})
