import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import type { RefundComment } from '#gen/multihub/support/v1/refund_pb.ts'
import { REFUND_STATUSES, REFUND_VIEW } from '#lib/contract/public-support.ts'
import { defineView, instantField } from '#lib/contract/view.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { digitAmount, text } from '../json/scalars.ts'
import { described, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { permittedScope } from './request-fields.ts'
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
  paymentIdentifierToProto,
  resourceIdentifiers,
  resourceReference,
  supportRequest,
  wordsOf,
} from './support-methods.ts'

/** The longest reason, in characters (S1). */
const REASON_MAX = 500

/** `refund.request`: asks for a deposit back, in whole or in part, once per `c_id` (S3, S8). */
export const refundRequest = defineMethod({
  name: 'refund.request',
  refusals: [10001, 11002, 11003, 11004, 11005, 1013],
  scope: 'refunds.create',
  default_quota: 10,
  summary: 'Requests a refund',
  description:
    'Reserves an amount of a successful deposit for a refund, which begins as `pending` and moves no money until the ' +
    'operator approves it. What remains of a payment is its amount less its completed refunds, its active refund and ' +
    'every chargeback that you have not won. Refusals in their order: 11003 for an amount of another form, 10001 for a ' +
    'payment that you do not have, 11002 for one that is not a successful deposit or of which nothing is left, 11005 ' +
    'while another refund of it is active, 11004 for more than remains, with the `remaining_amount` in `details`. A payment has at most 100 refunds; one more is ' +
    'refused with 11002. The `c_id` is the idempotency key, permanently: repeating exactly the same request shows the refund ' +
    'as it is by then, another request with the same `c_id` is refused with 1013.',
  example: {
    params: {
      identifiers: { c_id: 'refund-1' },
      payment: { c_id: 'order-1' },
      amount: '50000',
      reason: 'The customer returned the goods.',
    },
  },
  request: supportRequest(
    object({
      identifiers: NEW_IDENTIFIERS,
      payment: paymentIdentifiers(),
      amount: described(
        'In minor units, as a text of digits; without it, all that remains of the payment.',
        optional(digitAmount(11003)),
      ),
      reason: described('Why; the operator reads it.', optional(text({ max: REASON_MAX }))),
    }),
  ),
  result: REFUND_VIEW.schema,
  result_components: REFUND_VIEW.components,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ params }, caller) => {
      const { identifiers, ...payload } = params
      const { payment, amount, reason = '' } = payload
      const { refund } = await support.requestRefund({
        ...permittedScope(caller),
        cId: identifiers.c_id,
        payloadHash: payloadHash(payload),
        payment: paymentIdentifierToProto(payment),
        amount,
        reason,
      })
      return REFUND_VIEW.render(refund)
    }
  },
})

/** `refund.get`: shows a refund of the merchant. */
export const refundGet = defineGet({
  name: 'refund.get',
  refusals: [11001],
  scope: 'refunds.read',
  summary: 'Shows a refund',
  description: 'Give either `c_id` or `h_id`. For a refund that you do not have the response is 11001.',
  example: { c_id: 'refund-1' },
  service: MerchantRefundService,
  view: REFUND_VIEW,
  identifiers: resourceIdentifiers(),
  find: async (support, scope, identifiers) =>
    (await support.findRefund({ ...scope, refund: resourceReference(identifiers) })).refund,
})

/** `refund.list`: the merchant's refunds, newest first (S6, S7). */
export const refundList = defineList({
  name: 'refund.list',
  refusals: [],
  scope: 'refunds.read',
  summary: 'Lists your refunds, newest first',
  description: LIST_DESCRIPTION,
  example: { statuses: ['pending', 'approved'], limit: 50 },
  service: MerchantRefundService,
  view: REFUND_VIEW,
  params: object({
    statuses: wordsOf(REFUND_STATUSES.names),
    payment: optional(paymentIdentifiers()),
    ...CREATED_FIELDS,
    ...PAGE_FIELDS,
  }),
  async findPage(support, page, { statuses = [], payment }) {
    const { refunds: items, nextCursor } = await support.listMerchantRefunds({
      ...page,
      statuses: statuses.map(REFUND_STATUSES.toProto),
      ...(payment && { payment: paymentIdentifierToProto(payment) }),
    })
    return { items, nextCursor }
  },
})

/** `refund.summary`: the number of the merchant's refunds per status (S11). */
export const refundSummary = defineSummary({
  name: 'refund.summary',
  scope: 'refunds.read',
  summary: 'Counts your refunds by status',
  service: MerchantRefundService,
  statuses: REFUND_STATUSES,
  count: (support, request) => support.summarizeRefunds(request),
})

/** A comment on a refund. */
const COMMENT_VIEW = defineView<RefundComment>('RefundComment', {
  ...COMMENT_FIELDS,
  created_at: instantField(({ createTime }) => createTime),
})

/** `refund.comment.create`: adds a comment to a refund, once per `operation_id` (S3). */
export const refundCommentCreate = defineChange({
  name: 'refund.comment.create',
  refusals: [11001],
  scope: 'refunds.comment',
  summary: 'Comments on a refund',
  description: 'The operator reads it and can answer. A comment cannot be changed, and moves no money.',
  example: {
    operation_id: 'comment-1',
    params: { refund: { c_id: 'refund-1' }, body: 'The customer asks when the money comes.' },
  },
  service: MerchantRefundService,
  view: COMMENT_VIEW,
  params: object({ refund: resourceIdentifiers(), body: COMMENT_BODY }),
  change: async (support, key, { refund, body }) =>
    (await support.createRefundComment({ ...key, refund: resourceReference(refund), body })).comment,
})

/** `refund.comments.list`: the comments on a refund, oldest first (S6). */
export const refundCommentsList = defineList({
  name: 'refund.comments.list',
  refusals: [11001],
  scope: 'refunds.read',
  summary: 'Lists the comments on a refund, oldest first',
  description: 'Shows your own comments and those of support.',
  example: { refund: { c_id: 'refund-1' }, limit: 50 },
  service: MerchantRefundService,
  view: COMMENT_VIEW,
  params: object({ refund: resourceIdentifiers(), ...PAGE_FIELDS }),
  async findPage(support, page, { refund }) {
    const request = { ...page, refund: resourceReference(refund) }
    const { comments: items, nextCursor } = await support.listMerchantRefundComments(request)
    return { items, nextCursor }
  },
})
