import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type MerchantEvent, MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { EventName } from '#lib/contract/events.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { defineEffect, type EffectTiming, isBytes, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Payment } from './payment.ts'
import { paymentToProto } from './payment-to-proto.ts'

/** The effect that publishes an event. `message` is the encoded `MerchantEvent`. */
export const publishEventEffect = defineEffect({
  kind: 'publish_event',
  lane: 'event',
  data: { event_key: isText, event: isText, message: isBytes },
  id: (_payment: Payment, { event_key }) => `${event_key}:event`,
})

/**
 * Makes the effect that publishes an event of the payment's last transition. It holds a snapshot of the payment, so that
 * later changes do not alter what the merchant receives (N1). The event key is the payment id and the number of the
 * transition, because the same event name can occur twice (P10).
 */
export function newEventEffect(payment: Payment, event: EventName, timing: EffectTiming): Effect {
  const event_key = `${payment.payment_id}:${payment.transition_number}`
  const message = toBinary(MerchantEventSchema, merchantEvent(payment, event_key, event, timing.at))
  return publishEventEffect.newEffect(payment, { event_key, event, message }, timing)
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
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    createTime: timestampFromDate(at),
    resource: { case: 'payment', value: paymentToProto(payment) },
    webhook: payment.webhook && {
      url: payment.webhook.url,
      sealedSecret: payment.webhook.sealed_secret,
      secretOwner: ownerOfWebhookSecret(payment),
    },
  })
}
