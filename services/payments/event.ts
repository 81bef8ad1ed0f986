import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { type Effect, effect } from '#lib/effects/effect.ts'
import { environmentToProto } from '#lib/environment.ts'
import { type Payment, webhookOwner } from './payment.ts'
import { toProto } from './to-proto.ts'

/**
 * The effect that publishes an event. It holds the payment as of its own transition, already encoded: whatever
 * happens to the payment later, the merchant is told what happened then (N1). Its key is the payment and the number
 * of the transition, because the name alone can come twice (P10).
 */
export function eventEffect(payment: Payment, event: string, at: Date, after: string | undefined): Effect {
  const event_key = `${payment.payment_id}:${payment.transition}`
  const message = create(MerchantEventSchema, {
    eventKey: event_key,
    event,
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    createTime: timestampFromDate(at),
    resource: { case: 'payment', value: toProto(payment) },
    ...(payment.webhook
      ? {
          callback: {
            url: payment.webhook.url,
            sealedSecret: payment.webhook.sealed_secret,
            boundTo: webhookOwner(payment),
          },
        }
      : {}),
  })
  return effect(
    {
      id: `${event_key}:event`,
      kind: 'publish_event',
      lane: 'event',
      ...(after ? { after } : {}),
      data: { event_key, event, message: toBinary(MerchantEventSchema, message) },
    },
    at,
  )
}
