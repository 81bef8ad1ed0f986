import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type MerchantEvent, MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { EventName } from '#lib/contract/events.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import type { EffectTiming } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import type { Payment } from './payment.ts'
import { paymentToProto } from './payment-to-proto.ts'

/** The event of each status that a payment enters (P10). Entering `processing` has no event. */
export const EVENT_OF: Readonly<Record<PaymentStatus, EventName | undefined>> = {
  created: 'payment.created',
  processing: undefined,
  success: 'payment.completed',
  error: 'payment.failed',
  declined: 'payment.failed',
  canceled: 'payment.cancelled',
  refunded: 'payment.refunded',
  partially_refunded: 'payment.refunded',
}

/**
 * Makes the effect that publishes an event of the payment's last transition, which `refund_id` caused if it is given. It
 * holds a snapshot of the whole payment, as `payment.status` shows it then (P10), so that later changes do not alter what the
 * merchant receives (N1).
 */
export function newEventEffect(
  payment: Payment,
  event: EventName,
  { refund_id, ...timing }: EffectTiming & { readonly refund_id?: string | undefined },
): Effect {
  const event_key =
    refund_id === undefined ? eventKeyOf(payment, payment.status) : eventKeyOfRefund(refund_id)
  const snapshot = merchantEvent(payment, event_key, event, timing.at)
  const message = toBinary(MerchantEventSchema, snapshot)
  return publishEventEffect.newEffect(payment, { event_key, event, message }, timing)
}

/**
 * The key of the event of a status that the payment enters once. It says what happened and not which transition it was, so
 * that it is the same after a restore, whatever path leads there (P18).
 */
export function eventKeyOf({ payment_id }: Pick<Payment, 'payment_id'>, status: PaymentStatus): string {
  return `${payment_id}:${status}`
}

/** The key of the event of a completed refund: a payment can become `partially_refunded` several times (P18). */
export function eventKeyOfRefund(refund_id: string): string {
  return `${refund_id}:completed`
}

/** The event message with a snapshot of the payment. `event_key` is unique among all events. */
export function merchantEvent(
  payment: Payment,
  event_key: string,
  event: EventName,
  at: Date,
): MerchantEvent {
  return create(MerchantEventSchema, {
    eventKey: event_key,
    event,
    ...scopeToProto(payment),
    createTime: timestampFromDate(at),
    resource: { case: 'payment', value: paymentToProto(payment) },
    webhook: payment.webhook && {
      url: payment.webhook.url,
      sealedSecret: payment.webhook.sealed_secret,
      secretOwner: ownerOfWebhookSecret(payment),
    },
  })
}
