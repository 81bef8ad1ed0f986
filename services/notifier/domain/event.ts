import type { Message } from '@bufbuild/protobuf'
import type { MerchantEvent, MerchantEventHead } from '#gen/multihub/events/v1/event_pb.ts'
import { sha256Hex, uuidFromHash } from '#lib/base/crypto/hash.ts'
import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { type DeliveryTarget, destinationKeyOf } from './destination.ts'

/** The event that the operator sends to one endpoint, and that no endpoint lists. */
export const TEST_EVENT = 'webhook.test'

/** An event as the notifier stores it: the bytes that every attempt sends, and the destinations that receive them. */
export interface StoredEvent {
  readonly merchant_id: string
  readonly environment: Environment
  readonly event_key: string
  /** The public name, such as `payment.completed`. */
  readonly event: string
  /** The internal id of what the event is about: the `payment_id` of a payment; empty without a resource. */
  readonly resource_id: string
  /** The JSON of the callback, made once; absent when it was erased. */
  readonly body?: Uint8Array | undefined
  /** When the body was erased, because it identified a person (O11). */
  readonly erased_at?: Date | undefined
  readonly destinations: readonly DeliveryTarget[]
  readonly created_at: Date
  /** When the store deletes it. */
  readonly kept_until: Date
}

/** The fields of an event that decide where it goes: all but its resource. */
export type EventHead = Omit<MerchantEventHead, keyof Message>

/** The environment of an event. Throws a `TypeError` for an event that names none. */
export function environmentOfEvent(event: Pick<EventHead, 'environment'>): Environment {
  const environment = ENVIRONMENTS.fromProto(event.environment)
  if (!environment) throw new TypeError('the event has no environment')
  return environment
}

/** The internal id of the event's resource, by which the operator finds its deliveries; empty without a resource. */
export function resourceIdOf({ resource }: MerchantEvent): string {
  switch (resource.case) {
    case 'payment':
      return resource.value.paymentId
    case 'refund':
      return resource.value.refundId
    case 'chargeback':
      return resource.value.chargebackId
    case 'ticket':
      return resource.value.ticketId
    default:
      return ''
  }
}

/** What the ids of an event's deliveries follow from. */
type EventIdentity = Pick<StoredEvent, 'merchant_id' | 'event_key' | 'created_at'>

/** A destination of an event, with the id of its delivery. */
export function newTarget(
  event: EventIdentity,
  environment: Environment,
  target: Omit<DeliveryTarget, 'delivery_id' | 'destination_key'>,
): DeliveryTarget {
  const destination_key = destinationKeyOf(event.merchant_id, environment, target)
  return { ...target, destination_key, delivery_id: deliveryIdOf(event, destination_key) }
}

/**
 * The id of the delivery of an event to a destination: always the same one, so that none is created twice (N3). It begins
 * with the time of the event, so that a store writes new deliveries next to each other.
 */
export function deliveryIdOf(
  { merchant_id, event_key, created_at }: EventIdentity,
  destination_key: string,
): string {
  return uuidFromHash(sha256Hex(JSON.stringify([merchant_id, event_key, destination_key])), created_at)
}
