import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { update } from '#lib/patterns/update.ts'
import type { ReadDocuments, ResealCount } from '#lib/role/operations.ts'
import { resealDocuments } from '#lib/role/reseal.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import type { DeliveryTarget } from '../domain/destination.ts'
import type { StoredEvent } from '../domain/event.ts'
import { DELIVERIES } from '../store/deliveries.ts'
import { EVENTS } from '../store/events.ts'
import type { NotifierStore } from '../store/notifier-store.ts'

/**
 * Encrypts the secrets of `webhook_url`s again under the newest master key. Events come first, because a repetition of an
 * event makes deliveries of what it has.
 */
export async function* resealSecrets(
  { events, deliveries }: Pick<NotifierStore, 'events' | 'deliveries'>,
  deps: { readonly readDocuments: ReadDocuments; readonly keyring: Keyring },
): AsyncGenerator<ResealCount> {
  yield await resealDocuments<StoredEvent>(deps, {
    spec: EVENTS,
    change: resealEvent,
    update: ({ merchant_id, event_key }, decide) => update(events, { merchant_id, event_key }, decide),
  })
  yield await resealDocuments<Delivery>(deps, {
    spec: DELIVERIES,
    change: resealTarget,
    update: (delivery, decide) => update(deliveries, { ...deliveryKeyOf(delivery) }, decide),
  })
}

function resealEvent(event: StoredEvent, reseal: Keyring['reseal']): StoredEvent {
  const destinations = event.destinations.map((target) => resealTarget(target, reseal))
  return destinations.every((target, at) => target === event.destinations[at])
    ? event
    : { ...event, destinations }
}

function resealTarget<T extends DeliveryTarget>(target: T, reseal: Keyring['reseal']): T {
  const { secret } = target
  if (secret === undefined) return target
  const sealed = reseal(secret.sealed, secret.owner)
  return sealed === secret.sealed ? target : { ...target, secret: { ...secret, sealed } }
}
