import { type EventName, PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { DoneOperation } from '#lib/patterns/idempotency/done-operations.ts'
import { integerFrom, type RegistryDocument, type StoredSettings, wordsOf } from './settings.ts'

/** A merchant's callback address, as it is stored. */
export interface Endpoint extends StoredSettings<typeof ENDPOINT_SETTINGS>, MerchantScope, RegistryDocument {
  readonly endpoint_id: string
  readonly url: string
  /** Absent on an endpoint whose secret was never issued (N7): deliveries start when its secret is rotated. */
  readonly sealed_secret?: string
  /** When the secret was issued. */
  readonly secret_created_at?: Date
  /** Set until the secret is rotated: a repeated creation returns only the secret that it issued (O12). */
  readonly is_first_secret?: boolean
  /** The last rotations, the newest last: a repetition rotates nothing again (O12). */
  readonly rotations?: readonly DoneOperation[]
}

const EVENTS: readonly EventName[] = [...PAYMENT_EVENTS, ...SUPPORT_EVENTS]

/** The settings of an endpoint but its URL, whose check looks up addresses (spec: Delivery and retry, 2; N2). */
export const ENDPOINT_SETTINGS = {
  /** There is no wildcard (N1). With no events, the endpoint gets nothing more; deliveries already created continue. */
  events: { fallback: PAYMENT_EVENTS as readonly EventName[], check: wordsOf(EVENTS) },
  timeout_seconds: { fallback: 30, check: integerFrom(5, 60) },
  max_retries: { fallback: 3, check: integerFrom(1, 10) },
  retry_delay_seconds: { fallback: 1, check: integerFrom(1, 3600) },
  enabled: { fallback: true, check: (enabled: boolean) => enabled },
}
