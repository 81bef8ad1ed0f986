import type { Direction } from '#lib/contract/direction.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { Instructions } from './call-result.ts'

/** A natural person's name. */
export interface Person {
  readonly first_name?: string
  readonly last_name?: string
}

/** The customer of a deposit, as the merchant named it. */
export interface Payer {
  readonly email?: string
  readonly phone?: string
  readonly person?: Person
  readonly customer_account?: { readonly id?: string }
}

/** One status that the payment has entered. */
export interface HistoryEntry {
  readonly status: PaymentStatus
  readonly at: Date
  readonly amount: bigint
  readonly reason?: string
}

/** One try at one provider account. Its idempotency key is `<payment_id>:<number>`, so that no attempt is paid twice. */
export interface Attempt {
  readonly number: number
  readonly account_id: string
  readonly created_at: Date
}

/** A callback address for this payment only. The secret is sealed under `ownerOfWebhookSecret`. */
export interface Webhook {
  readonly url: string
  readonly sealed_secret: string
}

/** A payment as stored: one document, which includes the effects that must follow its last change. */
export interface Payment extends EffectDocument {
  readonly merchant_id: string
  readonly environment: Environment
  readonly c_id: string
  readonly payment_id: string
  readonly h_id: string
  /** `payment_id` and, when it differs, `h_id`: the operator finds a payment by either. */
  readonly ids: readonly string[]
  readonly p_id?: string
  readonly utr?: string
  readonly direction: Direction
  readonly service_id: string
  readonly method: string
  readonly currency: string
  readonly amount: bigint
  readonly description?: string
  readonly payer?: Payer
  readonly on_success?: string
  readonly on_fail?: string
  readonly language?: string
  readonly country?: string
  readonly webhook?: Webhook
  /** The provider accounts of the route when the payment was created, in the order in which they are tried. */
  readonly provider_accounts: readonly string[]
  readonly attempt: Attempt
  /** How the customer pays, as the provider reported it (P13). */
  readonly instructions?: Instructions
  /** The ids of the effects that recorded anomalies of this payment. */
  readonly anomalies?: readonly string[]
  readonly status: PaymentStatus
  readonly error_code?: number
  readonly history: readonly HistoryEntry[]
  /** The number of the last transition, which is part of the ids of the effects that follow from it. */
  readonly transition_number: number
  readonly created_at: Date
  readonly updated_at: Date
  /** When the payment became final; for a success, the provider's own time. */
  readonly finished_at?: Date
  readonly expires_at: Date
}

/** The idempotency key of an attempt at the provider. Repeated requests under one key are one payment there. */
export function attemptKey({ payment_id, attempt }: Pick<Payment, 'payment_id' | 'attempt'>): string {
  return `${payment_id}:${attempt.number}`
}
