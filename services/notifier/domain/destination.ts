import type { Endpoint } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { type Breaker, NEW_BREAKER } from './breaker.ts'

/** A URL and the limits of its attempts. Those of an endpoint are read again for every attempt. */
export interface DeliveryAddress {
  readonly url: string
  readonly timeout_seconds: number
  readonly max_retries: number
  readonly retry_delay_seconds: number
}

/**
 * Where one copy of an event goes. The destination is fixed when the event is first stored; the address of an endpoint is
 * the one that was last read for an attempt.
 */
export interface DeliveryTarget extends DeliveryAddress {
  /** Follows from the event and the destination, so that a repeated event has the same deliveries. */
  readonly delivery_id: string
  /** The destination that this delivery shares with others, see `destinationKeyOf`. */
  readonly destination_key: string
  /** Absent when the destination is the payment's own `webhook_url`. */
  readonly endpoint_id?: string
  /** The sealed secret of a payment's own `webhook_url`. An endpoint's secret is read again for every attempt. */
  readonly secret?: { readonly sealed: string; readonly owner: string }
}

/** The address of an endpoint as the registry has it. */
export function addressOfEndpoint(
  endpoint: Pick<Endpoint, 'url' | 'timeoutSeconds' | 'maxRetries' | 'retryDelaySeconds'>,
): DeliveryAddress {
  return {
    url: endpoint.url,
    timeout_seconds: endpoint.timeoutSeconds,
    max_retries: endpoint.maxRetries,
    retry_delay_seconds: endpoint.retryDelaySeconds,
  }
}

/** The host of a URL without its port; empty for a text that is not a URL, whose attempts fail without a request. */
export function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? ''
}

/** The right of one notifier to make the attempts of a destination. */
interface Lease {
  /** The notifier, by its address in the membership. */
  readonly owner: string
  /** New for each lease: the fence of the writes that its holder makes. */
  readonly token: string
  /** By the clock of the store. */
  readonly until: Date
}

/**
 * The shared state of everything that goes to one receiver: an endpoint, or an origin to which a merchant's `webhook_url`s
 * go. A notifier leases the destination, not single deliveries, so that its limits and its breaker hold however many
 * notifiers run.
 */
export interface Destination {
  readonly destination_key: string
  readonly merchant_id: string
  readonly breaker: Breaker
  readonly lease?: Lease | undefined
  /**
   * When a notifier must look at the destination; absent while nothing waits there. The process that stores a delivery sets
   * it after that write, and the owner removes it only when a read after the removal finds nothing. While the destination is
   * leased it is the end of the lease, so that an index on it finds exactly what needs an owner.
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

/** What the keys of the destinations of `webhook_url`s begin with. */
const ORIGIN_PREFIX = 'origin:'
const ENDPOINT_PREFIX = 'endpoint:'

/**
 * The key of a destination: its endpoint, or the merchant, environment and origin of a `webhook_url` (N5). So URLs with a
 * path or query per payment are one destination.
 */
export function destinationKeyOf(
  merchant_id: string,
  environment: Environment,
  { endpoint_id, url }: { readonly endpoint_id?: string; readonly url: string },
): string {
  if (endpoint_id !== undefined) return destinationKeyOfEndpoint(endpoint_id)
  // A text that is not a URL fails each of its attempts, so it may be a destination of its own.
  const origin = URL.parse(url)?.origin ?? url
  return `${ORIGIN_PREFIX}${sha256Hex(`${environment}/${merchant_id}/${origin}`).slice(0, 40)}`
}

/** The key of the destination that an endpoint is. */
export function destinationKeyOfEndpoint(endpoint_id: string): string {
  return `${ENDPOINT_PREFIX}${endpoint_id}`
}

/** The endpoint of a destination; `undefined` for an origin. */
export function endpointIdOf(destination_key: string): string | undefined {
  return destination_key.startsWith(ENDPOINT_PREFIX)
    ? destination_key.slice(ENDPOINT_PREFIX.length)
    : undefined
}

/** Whether a destination is the origin of `webhook_url`s, and not an endpoint. */
export function isOrigin(destination_key: string): boolean {
  return destination_key.startsWith(ORIGIN_PREFIX)
}

/** What names a destination. A wake over the bus has no merchant. */
export interface DestinationKey {
  readonly destination_key: string
  readonly merchant_id?: string | undefined
}

/** What a destination is made from. */
export type DestinationName = Pick<Destination, 'destination_key' | 'merchant_id'>

/** A destination without any history. */
export function newDestination({ destination_key, merchant_id }: DestinationName): Destination {
  return { destination_key, merchant_id, breaker: NEW_BREAKER }
}
