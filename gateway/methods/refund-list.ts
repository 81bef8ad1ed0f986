import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { REFUND_STATUSES } from '#lib/contract/refund-status.ts'
import { word } from '../json/scalars.ts'
import { list, object, optional } from '../json/schema.ts'
import { pageOf } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import { REFUND_COMPONENTS, REFUND_RESULT, toRefundResult } from './refund-result.ts'
import { createdBounds, ownerOf, paymentIdentifierToProto } from './request-to-proto.ts'
import { CREATED_FIELDS, PAGE_FIELDS, paymentIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'

/** `refund.list`: the merchant's refunds, newest first (S6, S7). */
export const refundList = defineMethod({
  name: 'refund.list',
  scope: 'refunds.read',
  default_quota: 120,
  summary: 'Lists your refunds, newest first',
  description:
    'Filters can be combined; a filter without words restricts nothing. A cursor is valid with the same filters only, ' +
    'else it is 9000. A page costs the same at any depth.',
  example: { method: 'refund.list', params: { statuses: ['pending', 'approved'], limit: 50 } },
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object({
      statuses: optional(list(word(REFUND_STATUSES.names), { max: REFUND_STATUSES.names.length })),
      payment: optional(paymentIdentifiers()),
      ...CREATED_FIELDS,
      ...PAGE_FIELDS,
    }),
  }),
  result: pageOf(REFUND_RESULT),
  result_components: REFUND_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ params }, caller) => {
      const { statuses = [], payment, limit, cursor } = params
      const { refunds, nextCursor } = await support.listMerchantRefunds({
        ...ownerOf(caller),
        ...createdBounds(params),
        statuses: statuses.map(REFUND_STATUSES.toProto),
        ...(payment && { payment: paymentIdentifierToProto(payment) }),
        limit: limit ?? 0,
        cursor: cursor ?? '',
      })
      return { items: refunds.map(toRefundResult), next_cursor: nextCursor === '' ? null : nextCursor }
    }
  },
})
