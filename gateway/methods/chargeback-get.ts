import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { uuid } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import { CHARGEBACK_COMPONENTS, CHARGEBACK_RESULT, toChargebackResult } from './chargeback-result.ts'
import { defineMethod } from './method.ts'
import { ownerOf } from './request-to-proto.ts'
import { SUPPORT_ENVELOPE } from './support-fields.ts'

/** `chargeback.get`: shows a chargeback of the merchant. */
export const chargebackGet = defineMethod({
  name: 'chargeback.get',
  scope: 'chargebacks.read',
  default_quota: 120,
  summary: 'Shows a chargeback',
  description: 'A chargeback that you do not have is 12001.',
  example: {
    method: 'chargeback.get',
    params: { identifiers: { h_id: '0199c0de-0000-7000-8000-000000000001' } },
  },
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object({ identifiers: object({ h_id: described('Our identifier.', uuid()) }) }),
  }),
  result: CHARGEBACK_RESULT,
  result_components: CHARGEBACK_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantChargebackService)
    return async ({ params }, caller) => {
      const chargebackId = params.identifiers.h_id
      const { chargeback } = await support.findChargeback({ ...ownerOf(caller), chargebackId })
      return toChargebackResult(chargeback)
    }
  },
})
