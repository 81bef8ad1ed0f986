import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { RefundChange as RefundChangeProto } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { REFUND_STATUSES } from '#lib/contract/refund-status.ts'
import type { RefundChange } from './refund.ts'

/** Maps a change that a payment reports. Throws 1005 or 9000 for a missing or wrong field. */
export function refundChangeFromProto(proto: RefundChangeProto | undefined): RefundChange {
  const change = requiredMessage(proto, 'change')
  const { minor, currency } = requiredMessage(change.amount, 'change.amount')
  const at = requiredMessage(change.changeTime, 'change.change_time')
  return {
    refund: {
      merchant_id: requiredText(change.merchantId, 'change.merchant_id'),
      environment: ENVIRONMENTS.required(change.environment, 'change.environment'),
      refund_id: requiredText(change.refundId, 'change.refund_id'),
      c_id: change.cId,
      payment: { payment_id: change.paymentId, c_id: change.paymentCId, h_id: change.paymentHId },
      amount: minor,
      currency,
    },
    number: change.number,
    status: REFUND_STATUSES.required(change.status, 'change.status'),
    reason: change.reason,
    at: timestampDate(at),
  }
}
