import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { type MerchantScope, scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { Policy } from '#lib/contract/policy.ts'
import type { Stored } from '#lib/store/store.ts'
import { runMutation } from '../../use-cases/mutation.ts'
import { type Refund, refundChangeFromProto } from '../domain/refund.ts'
import { findRefund, getRefund } from './find-refund.ts'
import { type RefundDeps, recordRefundChange } from './record-refund-change.ts'

/** A merchant's request for a refund. The gateway has validated its form. */
export interface RequestRefundRequest extends MerchantScope {
  readonly c_id: string
  /** The hash of the request without its `c_id`. */
  readonly payload_hash: string
  /** The restrictions of the credential, which apply to the route of the payment. */
  readonly policy: Policy
  /** One identifier of the payment. */
  readonly payment: { readonly by: 'c_id' | 'h_id'; readonly id: string }
  /** Without an amount, all that remains of the payment. */
  readonly amount: bigint | undefined
  readonly reason: string
}

const CALL = { timeoutMs: 10_000 }

/**
 * Requests a refund, once per `c_id`: a repetition gets the same refund, as it is by then, as long as it is kept (S3, O25). The payment
 * decides in one guarded write. Throws 1013 for a `c_id` that was used with another payload, then the refusals of S8.
 */
export async function requestRefund(
  deps: RefundDeps,
  request: RequestRefundRequest,
): Promise<Stored<Refund>> {
  const { merchant_id, environment, c_id } = request
  await runMutation(deps.idempotency, 'refund.request', { ...request, key: c_id }, async (id) => {
    await reserve(deps, request, id('refund'))
    return id('refund')
  })
  return findRefund(deps.refunds, { merchant_id, environment, by: 'c_id', id: c_id })
}

/** Reserves the amount, under an id that a repetition has too, and stores the refund. */
async function reserve(deps: RefundDeps, request: RequestRefundRequest, refund_id: string): Promise<void> {
  const { policy, payment, amount, reason } = request
  const { change } = await deps.payments.reserveRefund(
    {
      ...scopeToProto(request),
      policy: { serviceIds: [...policy.service_ids], currencies: [...policy.currencies] },
      paymentCId: payment.by === 'c_id' ? payment.id : undefined,
      paymentHId: payment.by === 'h_id' ? payment.id : undefined,
      refundId: refund_id,
      cId: request.c_id,
      amount,
      reason,
    },
    CALL,
  )
  await recordRefundChange(deps, refundChangeFromProto(change))
}

/** Longer than payments waits for the ledger. */
const DECISION_CALL = { timeoutMs: 15_000 }

/**
 * The operator approves a refund: its funds are held, and it goes to its provider (S9). Throws 11001 for an unknown refund,
 * 11004 when a chargeback has taken the amount, 6004 without the funds, 1009 when the provider account cannot refund, and
 * 8801 for a refund that was rejected or canceled. A repetition gets the refund as it is by then.
 */
export async function approveRefund(deps: RefundDeps, refund_id: string): Promise<Stored<Refund>> {
  const refund = await getRefund(deps.refunds, refund_id)
  const { change } = await deps.payments.approveRefund(nameOf(refund), DECISION_CALL)
  return recordRefundChange(deps, refundChangeFromProto(change))
}

/**
 * The operator rejects or cancels a pending refund, and the payment gets its amount back. Throws 11001 for an unknown refund
 * and 8801 for one that is not pending. A repetition changes nothing.
 */
export async function closeRefund(
  deps: RefundDeps,
  refund_id: string,
  status: 'rejected' | 'canceled',
  reason: string,
): Promise<Stored<Refund>> {
  const refund = await getRefund(deps.refunds, refund_id)
  const closing = { status: status === 'rejected' ? RefundStatus.REJECTED : RefundStatus.CANCELED, reason }
  const { change } = await deps.payments.closeRefund({ ...nameOf(refund), ...closing }, DECISION_CALL)
  return recordRefundChange(deps, refundChangeFromProto(change))
}

function nameOf(refund: Refund) {
  return { ...scopeToProto(refund), paymentCId: refund.payment.c_id, refundId: refund.refund_id }
}
