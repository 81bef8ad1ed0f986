import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type MerchantEvent, MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { webhookContext } from '#lib/contract/sealing-contexts.ts'
import { type Effect, effect } from '#lib/patterns/effects/effect.ts'
import type { Payment } from '../domain/payment.ts'
import { toProto } from '../rpc/payment-to-proto.ts'

/** What is published of a payment as it is now; `event_key` tells it from everything else that is told of it. */
export function merchantEvent(payment: Payment, event_key: string, event: string, at: Date): MerchantEvent {
  return create(MerchantEventSchema, {
    eventKey: event_key,
    event,
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    createTime: timestampFromDate(at),
    resource: { case: 'payment', value: toProto(payment) },
    callback: payment.webhook && {
      url: payment.webhook.url,
      sealedSecret: payment.webhook.sealed_secret,
      boundTo: webhookContext(payment),
    },
  })
}

/**
 * The effect that publishes an event. It holds the payment as of its own transition, already encoded: whatever
 * happens to the payment later, the merchant is told what happened then (N1). Its key is the payment and the number
 * of the transition, because the name alone can come twice (P10).
 */
export function eventEffect(payment: Payment, event: string, at: Date, after: string | undefined): Effect {
  const event_key = `${payment.payment_id}:${payment.transition}`
  const message = merchantEvent(payment, event_key, event, at)
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
