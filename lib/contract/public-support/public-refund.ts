import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { instantText } from '#lib/contract/public-payment/public-values.ts'
import { REFUND_STATUSES, type RefundStatus } from '#lib/contract/refund-status.ts'

/** A refund as merchants see it (S7). Its amount is a text of digits, unlike all other amounts (spec: What the service does). */
export interface RefundObject {
  readonly identifiers: { readonly c_id: string; readonly h_id: string }
  readonly payment: { readonly c_id: string; readonly h_id: string }
  readonly amount: string
  readonly currency: string
  readonly status: RefundStatus
  readonly reason?: string
  readonly created_at: string
  readonly updated_at: string
}

/**
 * Makes the public refund. A callback leaves the merchant's `reason` out, as it leaves out the texts of all support resources
 * (S12). Nothing of the operator is in it. Throws for a message without a required field.
 */
export function refundObject(refund: Refund, audience: 'response' | 'callback'): RefundObject {
  const { amount, createTime, updateTime, reason } = refund
  if (!amount || !createTime || !updateTime) throw new TypeError('a refund has no amount or no time')
  return {
    identifiers: { c_id: refund.cId, h_id: refund.refundId },
    payment: { c_id: refund.paymentCId, h_id: refund.paymentHId },
    amount: amount.minor.toString(),
    currency: amount.currency,
    status: REFUND_STATUSES.fromProtoOrThrow(refund.status, 'refund status'),
    ...(audience === 'callback' || reason === '' ? {} : { reason }),
    created_at: instantText(createTime),
    updated_at: instantText(updateTime),
  }
}
