import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type ChargebackDebit, ChargebackDebitSchema } from '#gen/multihub/payments/v1/chargeback_debit_pb.ts'
import { type RefundChange, RefundChangeSchema } from '#gen/multihub/payments/v1/refund_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { REFUND_STATUSES, type RefundStatus } from '#lib/contract/refund-status.ts'
import { requireChargeback } from './chargeback.ts'
import type { Payment } from './payment.ts'
import { requireRefund } from './refund.ts'

/** One status that a refund has entered, as its payment reports it. */
export interface ReportedChange {
  readonly refund_id: string
  readonly number: number
  readonly status: RefundStatus
  readonly changed_at: Date
  /** The merchant's reference of the refund in the first change; empty in later ones. */
  readonly c_id: string
  readonly reason: string
}

/** The message of a change of a refund. */
export function refundChangeToProto(payment: Payment, change: ReportedChange): RefundChange {
  const { refund_id: refundId, number, status, changed_at, c_id: cId, reason } = change
  const { amount: minor } = requireRefund(payment, refundId)
  return create(RefundChangeSchema, {
    refundId,
    ...ownerOf(payment),
    amount: { minor, currency: payment.currency },
    cId,
    number,
    status: REFUND_STATUSES.toProto(status),
    changeTime: timestampFromDate(changed_at),
    reason,
  })
}

/** The message of a chargeback. `deadline` is an ISO 8601 instant, or empty. */
export function chargebackToProto(
  payment: Payment,
  content: { readonly chargeback_id: string; readonly reason_code: string; readonly deadline: string },
): ChargebackDebit {
  const { chargeback_id: chargebackId, reason_code: reasonCode, deadline } = content
  const { amount: minor, created_at } = requireChargeback(payment, chargebackId)
  return create(ChargebackDebitSchema, {
    chargebackId,
    ...ownerOf(payment),
    amount: { minor, currency: payment.currency },
    reasonCode,
    ...(deadline === '' ? {} : { deadlineTime: timestampFromDate(new Date(deadline)) }),
    createTime: timestampFromDate(created_at),
  })
}

function ownerOf(
  payment: Payment,
): Pick<RefundChange, 'merchantId' | 'environment' | 'paymentId' | 'paymentCId' | 'paymentHId'> {
  return {
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    paymentId: payment.payment_id,
    paymentCId: payment.c_id,
    paymentHId: payment.h_id,
  }
}
