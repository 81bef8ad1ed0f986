import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/chargeback-status.ts'
import { object } from '../json/schema.ts'
import { record } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import { createdBounds, ownerOf } from './request-to-proto.ts'
import { CREATED_FIELDS, SUPPORT_ENVELOPE } from './support-fields.ts'

const COUNT = { type: 'integer', minimum: 0 }

/** `chargeback.summary`: the number of the merchant's chargebacks per status (S11). */
export const chargebackSummary = defineMethod({
  name: 'chargeback.summary',
  scope: 'chargebacks.read',
  default_quota: 30,
  summary: 'Counts your chargebacks by status',
  description:
    'Every status is present, also with 0. The counts include everything that was answered before.',
  example: { method: 'chargeback.summary', params: { created_from: '2026-11-01T00:00:00Z' } },
  request: object({ ...SUPPORT_ENVELOPE, params: object(CREATED_FIELDS) }),
  result: record({
    by_status: record(Object.fromEntries(CHARGEBACK_STATUSES.names.map((status) => [status, COUNT]))),
  }),
  createHandler({ clientOf }) {
    const support = clientOf(MerchantChargebackService)
    return async ({ params }, caller) => {
      const { counts } = await support.summarizeChargebacks({ ...ownerOf(caller), ...createdBounds(params) })
      const entries = counts.map(({ status, count }) => {
        return [CHARGEBACK_STATUSES.fromProtoOrThrow(status, 'status'), Number(count)] as const
      })
      return { by_status: Object.fromEntries(entries) }
    }
  },
})
