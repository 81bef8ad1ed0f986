import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/chargeback-status.ts'
import { word } from '../json/scalars.ts'
import { list, object, optional } from '../json/schema.ts'
import { pageOf } from '../openapi/json-schema.ts'
import { CHARGEBACK_COMPONENTS, CHARGEBACK_RESULT, toChargebackResult } from './chargeback-result.ts'
import { defineMethod } from './method.ts'
import { createdBounds, ownerOf, paymentIdentifierToProto } from './request-to-proto.ts'
import { CREATED_FIELDS, PAGE_FIELDS, paymentIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'

/** `chargeback.list`: the merchant's chargebacks, newest first (S6, S10). */
export const chargebackList = defineMethod({
  name: 'chargeback.list',
  scope: 'chargebacks.read',
  default_quota: 120,
  summary: 'Lists your chargebacks, newest first',
  description:
    'Filters can be combined; a filter without words restricts nothing. A cursor is valid with the same filters only, ' +
    'else it is 9000. A page costs the same at any depth.',
  example: { method: 'chargeback.list', params: { statuses: ['open', 'under_review'] } },
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object({
      statuses: optional(list(word(CHARGEBACK_STATUSES.names), { max: CHARGEBACK_STATUSES.names.length })),
      payment: optional(paymentIdentifiers()),
      ...CREATED_FIELDS,
      ...PAGE_FIELDS,
    }),
  }),
  result: pageOf(CHARGEBACK_RESULT),
  result_components: CHARGEBACK_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantChargebackService)
    return async ({ params }, caller) => {
      const { statuses = [], payment, limit, cursor } = params
      const { chargebacks, nextCursor } = await support.listMerchantChargebacks({
        ...ownerOf(caller),
        ...createdBounds(params),
        statuses: statuses.map(CHARGEBACK_STATUSES.toProto),
        ...(payment && { payment: paymentIdentifierToProto(payment) }),
        limit: limit ?? 0,
        cursor: cursor ?? '',
      })
      return {
        items: chargebacks.map(toChargebackResult),
        next_cursor: nextCursor === '' ? null : nextCursor,
      }
    }
  },
})
