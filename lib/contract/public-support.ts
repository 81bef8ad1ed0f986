import { RefundStatus as RefundStatusProto } from '#gen/multihub/payments/v1/refund_pb.ts'
import {
  type Chargeback,
  ChargebackStatus as ChargebackStatusProto,
} from '#gen/multihub/support/v1/chargeback_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { createEnumMap } from './proto-fields.ts'
import { type AmountObject, amountObject, instantText } from './public-payment.ts'

/** The status of a refund, under its public name (S7). */
export type RefundStatus = 'pending' | 'approved' | 'rejected' | 'canceled' | 'completed' | 'failed'

/** The statuses in RPCs. */
export const REFUND_STATUSES = createEnumMap<RefundStatus, RefundStatusProto>({
  pending: RefundStatusProto.PENDING,
  approved: RefundStatusProto.APPROVED,
  rejected: RefundStatusProto.REJECTED,
  canceled: RefundStatusProto.CANCELED,
  completed: RefundStatusProto.COMPLETED,
  failed: RefundStatusProto.FAILED,
})

/** The status of a chargeback, under its public name (S10). */
export type ChargebackStatus = 'open' | 'under_review' | 'won' | 'lost' | 'accepted'

/** The statuses in RPCs. */
export const CHARGEBACK_STATUSES = createEnumMap<ChargebackStatus, ChargebackStatusProto>({
  open: ChargebackStatusProto.OPEN,
  under_review: ChargebackStatusProto.UNDER_REVIEW,
  won: ChargebackStatusProto.WON,
  lost: ChargebackStatusProto.LOST,
  accepted: ChargebackStatusProto.ACCEPTED,
})

/** One status that a chargeback has had, as merchants see it. */
interface ChargebackHistoryObject {
  readonly status: ChargebackStatus
  readonly created: string
  readonly note?: string
}

/** A chargeback as merchants see it (S10). A callback has no history, whose notes are texts of the operator (S12). */
interface ChargebackObject {
  readonly identifiers: { readonly h_id: string }
  readonly payment: { readonly c_id: string; readonly h_id: string }
  readonly amount: AmountObject['value']
  readonly currency: string
  readonly reason_code: string
  readonly status: ChargebackStatus
  readonly deadline_at?: string
  readonly history?: readonly ChargebackHistoryObject[]
  readonly created_at: string
  readonly updated_at: string
}

/** Makes the public chargeback. Throws for a message without a required field. */
export function chargebackObject(
  chargeback: Chargeback,
  audience: 'response' | 'callback',
): ChargebackObject {
  const { createTime, updateTime, deadlineTime } = chargeback
  if (!createTime || !updateTime) throw new TypeError('a chargeback has no time')
  const { value: amount, currency } = amountObject(chargeback.amount)
  return {
    identifiers: { h_id: chargeback.chargebackId },
    payment: { c_id: chargeback.paymentCId, h_id: chargeback.paymentHId },
    amount,
    currency,
    reason_code: chargeback.reasonCode,
    status: CHARGEBACK_STATUSES.fromProtoOrThrow(chargeback.status, 'chargeback status'),
    ...(deadlineTime ? { deadline_at: instantText(deadlineTime) } : {}),
    ...(audience === 'callback' ? {} : { history: chargeback.history.map(historyObject) }),
    created_at: instantText(createTime),
    updated_at: instantText(updateTime),
  }
}

function historyObject({ status, createTime, note }: Chargeback['history'][number]): ChargebackHistoryObject {
  if (!createTime) throw new TypeError('a history entry has no time')
  return {
    status: CHARGEBACK_STATUSES.fromProtoOrThrow(status, 'chargeback status'),
    created: instantText(createTime),
    ...(note === '' ? {} : { note }),
  }
}

/** A refund as merchants see it (S7). Its amount is a text of digits, unlike all other amounts (spec: What the service does). */
interface RefundObject {
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
