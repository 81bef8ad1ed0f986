import { sha256Hex, uuidFromHash } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { type Breaker, NEW_BREAKER } from './breaker.ts'
import type { StoredEvent } from './event.ts'

/** The right of one notifier to make the attempts of a destination. */
export interface Lease {
  /** The notifier, by its address in the membership. */
  readonly owner: string
  /** New for each lease: the fence of the writes that its holder makes. */
  readonly token: string
  /** By the clock of the store. */
  readonly until: Date
}

/**
 * The shared state of everything that goes to one place: an endpoint, or a `webhook_url` of a merchant. A notifier leases
 * the destination, not single deliveries, so that its limits and its breaker hold however many notifiers run.
 */
export interface Destination {
  readonly destination_key: string
  /** Absent in a document of an older release. */
  readonly merchant_id?: string | undefined
  readonly breaker: Breaker
  readonly lease?: Lease | undefined
  /**
   * When a notifier must look at the destination; absent while nothing waits there. The process that stores a delivery
   * sets it after that write, and the owner removes it only when a read after the removal finds nothing. While the destination
   * is leased it is the end of the lease, so that an index on it finds exactly what needs an owner.
   */
  readonly wake_at?: Date | undefined
  /**
   * Set while the process that gave the lease back may still remove `wake_at`. A process that stores a delivery meanwhile
   * writes the document, so that the removal fails.
   */
  readonly is_last_look?: true | undefined
  /** When the store deletes the document; absent while something waits. */
  readonly expires_at?: Date | undefined
}

/** The key of a destination: its endpoint, or the merchant, environment and exact URL of a `webhook_url`. */
export function destinationKeyOf(
  merchant_id: string,
  environment: Environment,
  target: { readonly endpoint_id?: string; readonly url: string },
): string {
  if (target.endpoint_id !== undefined) return `endpoint:${target.endpoint_id}`
  return `url:${sha256Hex(`${environment}/${merchant_id}/${target.url}`).slice(0, 40)}`
}

/**
 * The id of the delivery of an event to a destination: always the same one, so that none is created twice (N3). It begins
 * with the time of the event, so that a store writes new deliveries next to each other.
 */
export function deliveryIdOf(
  { merchant_id, event_key, created_at }: Pick<StoredEvent, 'merchant_id' | 'event_key' | 'created_at'>,
  destination_key: string,
): string {
  return uuidFromHash(sha256Hex(JSON.stringify([merchant_id, event_key, destination_key])), created_at)
}

/** What names a destination. A wake over the bus has the key only. */
export type DestinationName = Pick<Destination, 'destination_key' | 'merchant_id'>

/** A destination of which nothing is known yet. */
export function newDestination({ destination_key, merchant_id }: DestinationName): Destination {
  return { destination_key, merchant_id, breaker: NEW_BREAKER }
}
