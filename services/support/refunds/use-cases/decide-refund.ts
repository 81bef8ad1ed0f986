import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { Stored } from '#lib/store/store.ts'
import type { Refund } from '../domain/refund.ts'
import { refundChangeFromProto } from '../domain/refund-change-from-proto.ts'
import { getRefund } from './find-refund.ts'
import { recordRefundChange } from './record-refund-change.ts'
import type { RequestRefundDeps } from './request-refund.ts'

/** What the operator's decisions need. */
export type DecideRefundDeps = Omit<RequestRefundDeps, 'idempotency'>

/** Longer than payments waits for the ledger. */
const CALL = { timeoutMs: 15_000 }

/**
 * The operator approves a refund: its funds are held, and it goes to its provider (S9). Throws 11001 for an unknown refund, 11004
 * when a chargeback has taken the amount, 6004 without the funds, 1009 when the provider account cannot refund, and 8801 for a
 * refund that was rejected or canceled. A repetition gets the refund as it is by then.
 */
export async function approveRefund(deps: DecideRefundDeps, refund_id: string): Promise<Stored<Refund>> {
  const refund = await getRefund(deps.refunds, refund_id)
  const { change } = await deps.payments.approveRefund(nameOf(refund), CALL)
  return recordRefundChange(deps, refundChangeFromProto(change))
}

/**
 * The operator rejects or cancels a pending refund, and the payment gets its amount back. Throws 11001 for an unknown refund and
 * 8801 for one that is not pending. A repetition changes nothing.
 */
export async function closeRefund(
  deps: DecideRefundDeps,
  refund_id: string,
  status: 'rejected' | 'canceled',
  reason: string,
): Promise<Stored<Refund>> {
  const refund = await getRefund(deps.refunds, refund_id)
  const closing = { status: status === 'rejected' ? RefundStatus.REJECTED : RefundStatus.CANCELED, reason }
  const { change } = await deps.payments.closeRefund({ ...nameOf(refund), ...closing }, CALL)
  return recordRefundChange(deps, refundChangeFromProto(change))
}

function nameOf({ merchant_id: merchantId, environment, payment, refund_id: refundId }: Refund) {
  return { merchantId, environment: environmentToProto(environment), paymentCId: payment.c_id, refundId }
}
