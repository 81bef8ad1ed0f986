import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import type { StoredPayment } from './payment.ts'

/** Encrypts a sealed text again; the same text if nothing is to be done. */
type Reseal = (sealed: string, owner: string) => string

/**
 * The payment with the secret of its callback address encrypted again, also in the events that wait to be published;
 * the same payment when nothing changes.
 */
export function resealPayment<D extends StoredPayment>(payment: D, reseal: Reseal): D {
  const { webhook } = payment
  if (webhook === undefined) return payment
  const sealed_secret = reseal(webhook.sealed_secret, ownerOfWebhookSecret(payment))
  const effects = payment.effects.map((effect) => resealEvent(effect, reseal))
  const is_same =
    sealed_secret === webhook.sealed_secret && effects.every((effect, at) => effect === payment.effects[at])
  return is_same ? payment : { ...payment, webhook: { ...webhook, sealed_secret }, effects }
}

function resealEvent(effect: Effect, reseal: Reseal): Effect {
  const data = publishEventEffect.dataOf(effect)
  if (data === undefined) return effect
  const event = fromBinary(MerchantEventSchema, data.message)
  const { webhook } = event
  if (webhook === undefined) return effect
  const sealed = reseal(webhook.sealedSecret, webhook.secretOwner)
  if (sealed === webhook.sealedSecret) return effect
  webhook.sealedSecret = sealed
  return { ...effect, data: { ...effect.data, message: toBinary(MerchantEventSchema, event) } }
}
