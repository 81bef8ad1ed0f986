import type { Environment } from '#lib/contract/environment.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { FailureReason } from '#lib/platform/http/http-failure.ts'

/** Where one copy of an event goes. It is fixed when the event is first stored. */
export interface Destination {
  readonly delivery_id: string
  readonly url: string
  /** Absent when the destination is the payment's own `webhook_url`. */
  readonly endpoint_id?: string
  /** The sealed secret of a payment's own `webhook_url`. An endpoint's secret is read again for every attempt. */
  readonly secret?: { readonly sealed: string; readonly owner: string }
  readonly timeout_seconds: number
  readonly max_retries: number
  readonly retry_delay_seconds: number
}

/** The status of a delivery. A `dead` one has failed its first attempt and all its retries (N6). */
export type DeliveryStatus = 'pending' | 'delivered' | 'dead'

/**
 * Why an attempt failed: there was no response, its HTTP status is not 2xx, or nothing could be sent, because the URL
 * breaks the rules (N9), the event is no longer stored, its body is too large (N4), or there is no secret to sign it with.
 */
export type AttemptFailure =
  | FailureReason
  | 'http_status'
  | 'refused_url'
  | 'event_expired'
  | 'payload_too_large'
  | 'no_secret'

/** One attempt, as the operator sees it. */
export interface AttemptRecord {
  readonly number: number
  readonly started_at: Date
  readonly duration_ms: number
  readonly http_status?: number
  /** Absent after a success. */
  readonly failure?: AttemptFailure
}

/** One event for one destination, with its attempts so far. */
export interface Delivery extends EffectDocument, Destination {
  readonly merchant_id: string
  readonly environment: Environment
  readonly event_key: string
  readonly event: string
  /** The internal id of what the event is about: the `payment_id` of a payment. */
  readonly resource_id: string
  readonly status: DeliveryStatus
  readonly attempts: readonly AttemptRecord[]
  readonly created_at: Date
  /** When the store deletes it, together with its event. */
  readonly kept_until: Date
}
