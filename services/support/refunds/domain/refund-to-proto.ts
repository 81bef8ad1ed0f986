import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Refund as RefundProto, RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { REFUND_STATUSES } from '#lib/contract/refund-status.ts'
import type { Refund } from './refund.ts'

/** The refund as RPCs and events carry it. */
export function refundToProto(refund: Refund): RefundProto {
  const { payment } = refund
  return create(RefundSchema, {
    refundId: refund.refund_id,
    cId: refund.c_id,
    merchantId: refund.merchant_id,
    environment: environmentToProto(refund.environment),
    paymentId: payment.payment_id,
    paymentCId: payment.c_id,
    paymentHId: payment.h_id,
    amount: { minor: refund.amount, currency: refund.currency },
    status: REFUND_STATUSES.toProto(refund.status),
    reason: refund.reason ?? '',
    operatorReason: refund.operator_reason ?? '',
    createTime: timestampFromDate(refund.created_at),
    updateTime: timestampFromDate(refund.updated_at),
  })
}
