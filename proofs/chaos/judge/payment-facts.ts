import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { StuckEffect } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { DIRECTIONS } from '#lib/contract/direction.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import type { StoredPayment } from '../../simulation/invariants/judge.ts'
import { type History, recordKey } from '../../simulation/workload/history.ts'

/**
 * The payments, in the form in which the invariants read them, from those that the operator lists. The RPCs do not return
 * the `webhook_url`, which the merchant knows, and of the effects they return the stuck ones only.
 */
export function storedPayments(
  payments: readonly Payment[],
  stuck: readonly StuckEffect[],
  history: History,
): readonly StoredPayment[] {
  return payments.map((payment) => {
    const { paymentId: payment_id, merchantId: merchant_id, cId: c_id, hId: h_id, amount } = payment
    const webhook_origin = history.payments.get(recordKey(merchant_id, c_id))?.webhook_origin
    return {
      payment_id,
      merchant_id,
      c_id,
      h_id,
      service_id: payment.serviceId,
      direction: DIRECTIONS.fromProto(payment.direction) ?? 'in',
      amount: amount?.minor ?? 0n,
      currency: amount?.currency ?? '',
      status: PAYMENT_STATUSES.fromProto(payment.status) ?? '',
      transition_number: payment.history.length,
      history: payment.history.map(({ status, amount: changed }) => ({
        status: PAYMENT_STATUSES.fromProto(status) ?? '',
        amount: changed?.minor ?? 0n,
      })),
      effects: stuck
        .filter((effect) => effect.paymentId === payment_id)
        .map(({ effectId: id, kind }) => ({ id, kind, stuck: true })),
      ...(webhook_origin === undefined ? {} : { webhook: { url: `${webhook_origin}/payment` } }),
    }
  })
}
