import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { REFUND_COMPONENTS, REFUND_RESULT, toRefundResult } from './refund-result.ts'
import { ownerOf, resourceReference } from './request-to-proto.ts'
import { resourceIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'

/** `refund.get`: shows a refund of the merchant. */
export const refundGet = defineMethod({
  name: 'refund.get',
  scope: 'refunds.read',
  default_quota: 120,
  summary: 'Shows a refund',
  description: 'Give either `c_id` or `h_id`. A refund that you do not have is 11001.',
  example: { method: 'refund.get', params: { identifiers: { c_id: 'refund-1' } } },
  request: object({ ...SUPPORT_ENVELOPE, params: object({ identifiers: resourceIdentifiers() }) }),
  result: REFUND_RESULT,
  result_components: REFUND_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ params }, caller) => {
      const { refund } = await support.findRefund({
        ...ownerOf(caller),
        refund: resourceReference(params.identifiers),
      })
      return toRefundResult(refund)
    }
  },
})
