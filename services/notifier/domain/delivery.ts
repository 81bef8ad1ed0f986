import type { Environment } from '#lib/contract/environment.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'

/** Where a copy of an event goes, frozen when the event was first stored. */
export interface Destination {
  readonly delivery_id: string
  readonly url: string
  /** Absent for the address that belongs to one payment. */
  readonly endpoint_id?: string
  /** The sealed secret of a payment's own address; an endpoint's is read anew for every attempt. */
  readonly secret?: { readonly sealed: string; readonly bound_to: string }
  readonly timeout_seconds: number
  readonly max_retries: number
  readonly retry_delay_seconds: number
}

/** An event as the notifier keeps it: the bytes that every attempt sends, and the list of who gets them. */
export interface StoredEvent {
  readonly merchant_id: string
  readonly event_key: string
  readonly event: string
  readonly body: Uint8Array
  readonly destinations: readonly Destination[]
  readonly created_at: Date
  readonly expires_at: Date
}

/** How a delivery stands. `dead` has used all its attempts (N6). */
export type DeliveryState = 'pending' | 'delivered' | 'dead'

/** One try, as the operator sees it. */
export interface AttemptRecord {
  readonly number: number
  readonly started_at: Date
  readonly duration_ms: number
  readonly http_status?: number
  /** Why it failed, in one word; absent after a success. */
  readonly failure?: string
}

/** One event on its way to one destination. */
export interface Delivery extends EffectDocument, Destination {
  readonly merchant_id: string
  readonly environment: Environment
  readonly event_key: string
  readonly event: string
  readonly resource_id: string
  readonly state: DeliveryState
  readonly attempts: readonly AttemptRecord[]
  readonly created_at: Date
  readonly expires_at: Date
}
