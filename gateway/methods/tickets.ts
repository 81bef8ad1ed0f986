import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import type { TicketComment } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import type { Ticket, TicketAttachment } from '#gen/multihub/support/v1/ticket_pb.ts'
import { OUR_ID } from '#lib/contract/public-support.ts'
import {
  PAYMENT_CATEGORIES,
  TICKET_CATEGORIES,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
} from '#lib/contract/ticket.ts'
import {
  defineView,
  field,
  instantField,
  listField,
  objectField,
  optionalField,
  record,
  textField,
  wordField,
} from '#lib/contract/view.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { type TextRule, text, uuid, word } from '../json/scalars.ts'
import { described, list, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { MERCHANT_REFERENCE, permittedScope } from './request-fields.ts'
import {
  COMMENT_BODY,
  COMMENT_FIELDS,
  CREATED_FIELDS,
  defineChange,
  defineGet,
  defineList,
  defineSummary,
  LIST_DESCRIPTION,
  NEW_IDENTIFIERS,
  PAGE_FIELDS,
  paymentIdentifiers,
  resourceIdentifiers,
  resourceReference,
  supportRequest,
  wordsOf,
} from './support-methods.ts'

/** A file as its ticket, comment or chargeback shows it (spec: Ticket object). */
export const FILE_VIEW = defineView<TicketAttachment>('TicketAttachment', {
  identifiers: objectField({ h_id: textField(({ attachmentId }) => attachmentId, { format: 'uuid' }) }),
  name: textField(({ name }) => name),
  mime_type: textField(({ mimeType }) => mimeType),
  size: field({ type: 'integer', description: 'In bytes.' }, ({ sizeBytes }) => Number(sizeBytes)),
  created_at: instantField(({ createTime }) => createTime),
})

/** A ticket (spec: Ticket object). It shows nothing about staff and nothing internal. */
const TICKET_VIEW = defineView<Ticket>(
  'Ticket',
  {
    identifiers: objectField({
      c_id: textField(({ cId }) => cId, { description: 'Your own reference.' }),
      h_id: textField(({ ticketId }) => ticketId, OUR_ID),
    }),
    category: wordField(TICKET_CATEGORIES, 'category'),
    status: wordField(TICKET_STATUSES, 'status'),
    priority: wordField(TICKET_PRIORITIES, 'priority', {
      description: 'Only the operator sets `urgent`.',
    }),
    title: textField(({ title }) => title),
    description: textField(({ description }) => description),
    payment: optionalField(
      field(
        record({ h_id: { type: 'string', description: 'The `h_id` of the payment.' } }),
        ({ payment }) => payment && { h_id: payment.hId },
      ),
    ),
    reference: field({ type: 'null' }, () => null),
    sla_deadline: instantField(
      ({ slaDeadlineTime }) => slaDeadlineTime,
      'When the operator should have handled the ticket.',
    ),
    attachments: listField(FILE_VIEW, ({ attachments }) => attachments, { maxItems: 10 }),
    created_at: instantField(({ createTime }) => createTime, 'When the ticket was created.'),
    updated_at: instantField(
      ({ updateTime }) => updateTime,
      'When its status, priority or description last changed.',
    ),
    last_activity_at: instantField(
      ({ lastActivityTime }) => lastActivityTime,
      'When the ticket last changed or got a comment.',
    ),
  },
  { parts: [FILE_VIEW] },
)

/** The text of a ticket (S1). */
const TICKET_DESCRIPTION = described('The text of the ticket.', text({ min: 1, max: 10_000 }))

/** The title of a ticket (S1). */
const TICKET_TITLE: TextRule = { min: 1, max: 200 }

/** The files of a ticket or a comment: at most ten (S1). */
export const ATTACHMENT_IDS = described(
  'The `h_id` of uploaded files that are `ready`.',
  optional(list(uuid(), { max: 10 })),
)

/** The priorities that a merchant can ask for (S2). */
const REQUESTED_PRIORITIES = TICKET_PRIORITIES.names.filter((name) => name !== 'urgent')

/** `ticket.create`: opens a conversation with the operator, once per `c_id` (S2, S3). */
export const ticketCreate = defineMethod({
  name: 'ticket.create',
  refusals: [10001, 10002, 10005, 1013, 13001, 13002, 13003, 13004],
  scope: 'tickets.create',
  default_quota: 30,
  summary: 'Opens a ticket',
  description:
    'The categories `payment_issue`, `dispute` and `refund_request` need a payment of yours, and `payment_issue` also ' +
    'needs a file. A payment has one ticket: a second one is refused with 10002, and `details` has the `identifiers` and the ' +
    '`status` of the first. The `c_id` is the idempotency key, permanently: repeating exactly the same request shows ' +
    'the ticket as it is by then, another request with the same `c_id` is refused with 1013. A ticket of the category ' +
    '`refund_request` moves no money.',
  example: {
    params: {
      identifiers: { c_id: 'ticket-1' },
      title: 'A question about limits',
      description: 'What is the highest amount of a deposit?',
      category: 'question',
    },
  },
  request: supportRequest(
    object(
      {
        identifiers: NEW_IDENTIFIERS,
        title: text(TICKET_TITLE),
        description: TICKET_DESCRIPTION,
        category: word(TICKET_CATEGORIES.names),
        priority: described('`medium` without one.', optional(word(REQUESTED_PRIORITIES))),
        payment: optional(
          object({ c_id: described('Your own reference of the payment.', text(MERCHANT_REFERENCE)) }),
        ),
        attachment_ids: ATTACHMENT_IDS,
      },
      { required_for: { field: 'payment', of: 'category', words: PAYMENT_CATEGORIES } },
    ),
  ),
  result: TICKET_VIEW.schema,
  result_components: TICKET_VIEW.components,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ params }, caller) => {
      const { identifiers, ...payload } = params
      const { title, description, category, priority, payment, attachment_ids = [] } = payload
      const { ticket } = await support.createTicket({
        ...permittedScope(caller),
        cId: identifiers.c_id,
        payloadHash: payloadHash(payload),
        title,
        description,
        category: TICKET_CATEGORIES.toProto(category),
        ...(priority && { priority: TICKET_PRIORITIES.toProto(priority) }),
        paymentCId: payment?.c_id,
        attachmentIds: [...attachment_ids],
      })
      return TICKET_VIEW.render(ticket)
    }
  },
})

/** `ticket.get`: shows a ticket of the merchant. */
export const ticketGet = defineGet({
  name: 'ticket.get',
  refusals: [10001],
  scope: 'tickets.read',
  summary: 'Shows a ticket',
  description: 'Give either `c_id` or `h_id`. For a ticket that you do not have the response is 10001.',
  example: { c_id: 'ticket-1' },
  service: MerchantTicketService,
  view: TICKET_VIEW,
  identifiers: resourceIdentifiers(),
  find: async (support, scope, identifiers) =>
    (await support.findTicket({ ...scope, ticket: resourceReference(identifiers) })).ticket,
})

/** `ticket.list`: the merchant's tickets, newest first (S6). */
export const ticketList = defineList({
  name: 'ticket.list',
  refusals: [],
  scope: 'tickets.read',
  summary: 'Lists your tickets, newest first',
  description: LIST_DESCRIPTION,
  example: { statuses: ['open', 'in_progress'], limit: 50 },
  service: MerchantTicketService,
  view: TICKET_VIEW,
  params: object({
    statuses: wordsOf(TICKET_STATUSES.names),
    categories: wordsOf(TICKET_CATEGORIES.names),
    priorities: wordsOf(TICKET_PRIORITIES.names),
    payment: optional(paymentIdentifiers()),
    ...CREATED_FIELDS,
    ...PAGE_FIELDS,
  }),
  async findPage(support, page, { statuses = [], categories = [], priorities = [], payment }) {
    const { tickets: items, nextCursor } = await support.listMerchantTickets({
      ...page,
      statuses: statuses.map(TICKET_STATUSES.toProto),
      categories: categories.map(TICKET_CATEGORIES.toProto),
      priorities: priorities.map(TICKET_PRIORITIES.toProto),
      payment: payment && resourceReference(payment),
    })
    return { items, nextCursor }
  },
})

/** `ticket.summary`: the number of the merchant's tickets per status (S11). */
export const ticketSummary = defineSummary({
  name: 'ticket.summary',
  scope: 'tickets.read',
  summary: 'Counts your tickets by status',
  service: MerchantTicketService,
  statuses: TICKET_STATUSES,
  count: (support, request) => support.summarizeTickets(request),
})

/** `ticket.description.update`: replaces the description within an hour of the creation. */
export const ticketDescriptionUpdate = defineChange({
  name: 'ticket.description.update',
  refusals: [10001, 10004],
  scope: 'tickets.update',
  summary: 'Replaces the description of a ticket',
  description:
    'Possible for one hour after the creation, and 100 times at most; then it is refused with 10004. Repeating exactly the same ' +
    'request changes nothing and shows the ticket as it is by then.',
  example: {
    operation_id: 'edit-1',
    params: { identifiers: { c_id: 'ticket-1' }, description: 'What is the highest amount of a withdrawal?' },
  },
  service: MerchantTicketService,
  view: TICKET_VIEW,
  params: object({ identifiers: resourceIdentifiers(), description: TICKET_DESCRIPTION }),
  async change(support, key, { identifiers, description }) {
    const ticket = resourceReference(identifiers)
    return (await support.updateTicketDescription({ ...key, ticket, description })).ticket
  },
})

/** `ticket.reopen`: opens a resolved or closed ticket again (S4). */
export const ticketReopen = defineChange({
  name: 'ticket.reopen',
  refusals: [10001, 10003],
  scope: 'tickets.update',
  summary: 'Opens a resolved or closed ticket again',
  description:
    'The ticket becomes `open`. In any other status the request is refused with 10003. Repeating exactly the same request changes nothing ' +
    'and shows the ticket as it is by then.',
  example: { operation_id: 'reopen-1', params: { identifiers: { c_id: 'ticket-1' } } },
  service: MerchantTicketService,
  view: TICKET_VIEW,
  params: object({ identifiers: resourceIdentifiers() }),
  change: async (support, key, { identifiers }) =>
    (await support.reopenTicket({ ...key, ticket: resourceReference(identifiers) })).ticket,
})

/** A comment of a ticket (spec: Ticket comment). */
const COMMENT_VIEW = defineView<TicketComment>(
  'TicketComment',
  {
    ...COMMENT_FIELDS,
    attachments: listField(FILE_VIEW, ({ attachments }) => attachments, { maxItems: 10 }),
    created_at: instantField(({ createTime }) => createTime),
    updated_at: instantField(({ updateTime }) => updateTime, 'When its text last changed.'),
  },
  { parts: [FILE_VIEW] },
)

/** `ticket.comment.create`: adds a comment of the merchant to its ticket (S4). */
export const ticketCommentCreate = defineChange({
  name: 'ticket.comment.create',
  refusals: [10001, 10003, 13001, 13002, 13003, 13004],
  scope: 'tickets.comment',
  summary: 'Adds a comment to a ticket',
  description:
    'A ticket that is `waiting_customer` becomes `in_progress`. For a closed or canceled ticket the response is 10003: ' +
    'reopen a closed one first. Repeating exactly the same request adds nothing and shows the comment as it is by then.',
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
  refusals: [10001],
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
  refusals: [10001, 10003, 10004],
  scope: 'tickets.comment',
  summary: 'Replaces the text of your comment',
  description:
    'Possible for one hour after the comment was created, and 100 times at most; then it is refused with 10004. For a comment of ' +
    'support the response is 10003, for one that does not exist 10001. Repeating exactly the same request changes nothing and shows the ' +
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
