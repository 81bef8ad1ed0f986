import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { REFUND_STATUSES } from '#lib/contract/refund-status.ts'
import { object } from '../json/schema.ts'
import { record } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import { createdBounds, ownerOf } from './request-to-proto.ts'
import { CREATED_FIELDS, SUPPORT_ENVELOPE } from './support-fields.ts'

const COUNT = { type: 'integer', minimum: 0 }

/** `refund.summary`: the number of the merchant's refunds per status (S11). */
export const refundSummary = defineMethod({
  name: 'refund.summary',
  scope: 'refunds.read',
  default_quota: 30,
  summary: 'Counts your refunds by status',
  description:
    'Every status is present, also with 0. The counts include everything that was answered before.',
  example: { method: 'refund.summary', params: { created_from: '2026-11-01T00:00:00Z' } },
  request: object({ ...SUPPORT_ENVELOPE, params: object(CREATED_FIELDS) }),
  result: record({
    by_status: record(Object.fromEntries(REFUND_STATUSES.names.map((status) => [status, COUNT]))),
  }),
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ params }, caller) => {
      const { counts } = await support.summarizeRefunds({ ...ownerOf(caller), ...createdBounds(params) })
      const entries = counts.map(({ status, count }) => {
        return [REFUND_STATUSES.fromProtoOrThrow(status, 'status'), Number(count)] as const
      })
      return { by_status: Object.fromEntries(entries) }
    }
  },
})
