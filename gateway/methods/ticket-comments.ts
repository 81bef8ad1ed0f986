import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import type { TicketComment } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { OUR_ID } from '#lib/contract/public-support.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { defineView, instantField, listField, objectField, textField, wordField } from '#lib/contract/view.ts'
import { uuid } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import {
  COMMENT_BODY,
  defineChange,
  defineList,
  PAGE_FIELDS,
  resourceIdentifiers,
  resourceReference,
} from './support-methods.ts'
import { ATTACHMENT_IDS, FILE_VIEW } from './tickets.ts'

/** What the comments of tickets and refunds show first: which side wrote them, never who. */
export const COMMENT_FIELDS = {
  identifiers: objectField<{ commentId: string }>({ h_id: textField(({ commentId }) => commentId, OUR_ID) }),
  author: wordField<{ author: number }>(COMMENT_AUTHORS, ({ author }) => author),
  body: textField<{ body: string }>(({ body }) => body),
}

/** A comment of a ticket (spec: Ticket comment). */
const COMMENT_VIEW = defineView<TicketComment>(
  'TicketComment',
  {
    ...COMMENT_FIELDS,
    attachments: listField(FILE_VIEW, ({ attachments }) => attachments, { maxItems: 10 }),
    created_at: instantField(({ createTime }) => createTime),
    updated_at: instantField(({ updateTime }) => updateTime, 'When its text last changed.'),
  },
  [FILE_VIEW],
)

/** `ticket.comment.create`: adds a comment of the merchant to its ticket (S4). */
export const ticketCommentCreate = defineChange({
  name: 'ticket.comment.create',
  scope: 'tickets.comment',
  summary: 'Adds a comment to a ticket',
  description:
    'A ticket that is `waiting_customer` becomes `in_progress`. A closed or canceled ticket is 10003: reopen a closed ' +
    'one first. Repeating exactly the same request adds nothing and shows the comment as it is by then.',
  example: {
    operation_id: 'comment-1',
    params: { ticket: { c_id: 'ticket-1' }, body: 'It happened again today.' },
  },
  service: MerchantTicketService,
  view: COMMENT_VIEW,
  params: object({ ticket: resourceIdentifiers(), body: COMMENT_BODY, attachment_ids: ATTACHMENT_IDS }),
  async change(support, key, { ticket, body, attachment_ids = [] }) {
    const { comment } = await support.createTicketComment({
      ...key,
      ticket: resourceReference(ticket),
      body,
      attachmentIds: [...attachment_ids],
    })
    return comment
  },
})

/** `ticket.comments.list`: the comments of a ticket, oldest first (S6). */
export const ticketCommentsList = defineList({
  name: 'ticket.comments.list',
  scope: 'tickets.read',
  summary: 'Lists the comments of a ticket, oldest first',
  description: 'Shows your own comments and those of support.',
  example: { ticket: { c_id: 'ticket-1' }, limit: 50 },
  service: MerchantTicketService,
  view: COMMENT_VIEW,
  params: object({ ticket: resourceIdentifiers(), ...PAGE_FIELDS }),
  async findPage(support, page, { ticket }) {
    const request = { ...page, ticket: resourceReference(ticket) }
    const { comments: items, nextCursor } = await support.listMerchantTicketComments(request)
    return { items, nextCursor }
  },
})

/** `ticket.comment.update`: replaces the text of a comment of the merchant within an hour of its creation. */
export const ticketCommentUpdate = defineChange({
  name: 'ticket.comment.update',
  scope: 'tickets.comment',
  summary: 'Replaces the text of your comment',
  description:
    'Possible for one hour after the comment was created, and 100 times at most; then it is 10004. A comment of support ' +
    'is 10003, and one that does not exist 10001. Repeating exactly the same request changes nothing and shows the ' +
    'comment as it is by then.',
  example: {
    operation_id: 'edit-comment-1',
    params: {
      ticket: { c_id: 'ticket-1' },
      comment_h_id: '0199c0de-0000-7000-8000-000000000001',
      body: 'It happened again today, twice.',
    },
  },
  service: MerchantTicketService,
  view: COMMENT_VIEW,
  params: object({
    ticket: resourceIdentifiers(),
    comment_h_id: described('The `h_id` of the comment.', uuid()),
    body: COMMENT_BODY,
  }),
  async change(support, key, { ticket, comment_h_id, body }) {
    const { comment } = await support.updateTicketComment({
      ...key,
      ticket: resourceReference(ticket),
      commentId: comment_h_id,
      body,
    })
    return comment
  },
})
