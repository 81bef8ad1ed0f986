import { create } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { RefundChange as RefundChangeProto } from '#gen/multihub/payments/v1/refund_pb.ts'
import { type Refund as RefundProto, RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { requiredMessage, requiredText, timesToProto } from '#lib/contract/proto-fields.ts'
import { REFUND_STATUSES, type RefundStatus } from '#lib/contract/public-support.ts'
import type { CommentThread } from '../../comments/domain/comment.ts'
import { asErased, type Erasable, erasedText } from '../../domain/erasure.ts'
import { newSupportEvent } from '../../domain/support-event.ts'
import type { PaymentReference } from '../../domain/support-resource.ts'

/**
 * A refund as merchants and the operator see it. Its payment decides about its amount, its status and its money; this
 * document follows the changes that the payment reports.
 */
export interface Refund extends CommentThread, Erasable {
  /** Its public `h_id`. */
  readonly refund_id: string
  readonly c_id: string
  readonly payment: PaymentReference
  readonly amount: bigint
  readonly currency: string
  readonly status: RefundStatus
  /** The number of the last change, from 1. */
  readonly change_number: number
  /** The merchant's reason; empty when it gave none. */
  readonly reason: string
  /** Why the operator rejected or canceled the refund, or empty. Merchants do not see it. */
  readonly operator_reason: string
  /** The refund's id at its provider, as the last change named it; empty or absent until then. */
  readonly provider_id?: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** A status that a refund has entered, as its payment reports it. */
export interface RefundChange {
  readonly refund: Pick<
    Refund,
    'merchant_id' | 'environment' | 'refund_id' | 'c_id' | 'payment' | 'amount' | 'currency'
  >
  /** 1 is the request. */
  readonly number: number
  readonly status: RefundStatus
  readonly reason: string
  readonly provider_id?: string
  readonly at: Date
}

/** The statuses that each status can lead to (S7); a refund ends in those that are not in it. */
const TRANSITIONS: Readonly<Partial<Record<RefundStatus, readonly RefundStatus[]>>> = {
  pending: ['approved', 'rejected', 'canceled'],
  approved: ['completed', 'failed'],
}

/** The refund after its first change: the request, which is announced. Pure. */
export function newRefund({ refund, number, status, reason, at }: RefundChange): Refund {
  if (number !== 1 || status !== 'pending') throw new TypeError('a refund begins with its request')
  const requested: Refund = {
    ...refund,
    status,
    change_number: number,
    reason,
    operator_reason: '',
    created_at: at,
    updated_at: at,
    effects: [],
  }
  return withEvent(requested, 'refund.requested')
}

/**
 * The refund after a change, which is announced; the same one for a change that is known already. Pure. Throws `Unavailable`
 * while an earlier change is missing, which its own report brings, and `TypeError` for a transition that the table forbids.
 */
export function applyRefundChange(
  refund: Refund,
  { number, status, reason, provider_id = '', at }: RefundChange,
): Refund {
  if (number <= refund.change_number) return refund
  if (number > refund.change_number + 1)
    throw new Unavailable(
      `the change ${refund.change_number + 1} of the refund ${refund.refund_id} is missing`,
    )
  if (!TRANSITIONS[refund.status]?.includes(status))
    throw new TypeError(`forbidden refund transition from ${refund.status} to ${status}`)
  const changed: Refund = {
    ...refund,
    status,
    change_number: number,
    operator_reason: reason || refund.operator_reason,
    ...(provider_id && { provider_id }),
    updated_at: at,
  }
  return withEvent(changed, 'refund.status_changed', number - 1)
}

function withEvent(
  refund: Refund,
  event: 'refund.requested' | 'refund.status_changed',
  number?: number,
): Refund {
  const { refund_id: h_id, updated_at: at, status } = refund
  const fact = number === undefined ? undefined : status
  // No callback shows the reasons, which may name a person, and the bus carries support's events in clear (S12, O11).
  const value = refundToProto({ ...refund, reason: '', operator_reason: '' })
  const resource = { case: 'refund', value } as const
  const announced = newSupportEvent({ scope: refund, h_id, event, number, fact, resource, at })
  return { ...refund, effects: [...refund.effects, announced] }
}

/** The refund without the reasons of merchant and operator (O11). Pure. Throws 8801 while effects wait. */
export function eraseRefund(refund: Refund, at: Date): Refund {
  const { reason, operator_reason, refund_id } = refund
  const erased = { ...refund, reason: erasedText(reason), operator_reason: erasedText(operator_reason) }
  return asErased(erased, refund_id, at)
}

/** Since when a refund is over, with its last comment; `undefined` while it is open. Pure. */
export function refundEndedSince(refund: Refund): Date | undefined {
  const { status, updated_at, last_comment_at = updated_at } = refund
  if (TRANSITIONS[status] !== undefined) return undefined
  return new Date(Math.max(updated_at.getTime(), last_comment_at.getTime()))
}

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
    provider_id: change.providerId,
    at: timestampDate(at),
  }
}

/** The refund as RPCs and events carry it. */
export function refundToProto(refund: Refund): RefundProto {
  const { payment } = refund
  return create(RefundSchema, {
    refundId: refund.refund_id,
    cId: refund.c_id,
    ...scopeToProto(refund),
    paymentId: payment.payment_id,
    paymentCId: payment.c_id,
    paymentHId: payment.h_id,
    amount: { minor: refund.amount, currency: refund.currency },
    status: REFUND_STATUSES.toProto(refund.status),
    reason: refund.reason,
    operatorReason: refund.operator_reason,
    providerId: refund.provider_id ?? '',
    ...timesToProto(refund),
  })
}
