import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Money } from '#lib/contract/money.ts'
import type { ReceivedHeaders } from '#lib/platform/crypto/signed-request.ts'
import type { ProviderAccount } from './provider-account.ts'

/** What a provider can be asked to do. */
export type OperationKind = 'deposit' | 'withdrawal' | 'refund'

/** Who a person is, as far as the merchant said so. Providers may ignore all of it. */
export interface PersonHints {
  readonly email?: string
  readonly phone?: string
  readonly first_name?: string
  readonly last_name?: string
}

interface OrderBase {
  /** The name of this operation for ever: up to 128 characters of `A-Z a-z 0-9 . _ : -`. */
  readonly idempotency_key: string
  readonly amount: Money
  readonly method: string
  /** Where the provider reports; its path is part of what a callback signs. */
  readonly callback_url: string
  /**
   * True when the same key was sent before and nobody knows what became of it. A refusal then proves nothing, because
   * the earlier request may have been accepted: it is `unknown`, and a look-up has to tell.
   */
  readonly repeated?: boolean
}

/** One operation that a provider is asked for. */
export type ProviderOrder =
  | (OrderBase & {
      readonly kind: 'deposit'
      readonly expires_at: Date
      readonly payer: PersonHints & { readonly customer_account_id?: string }
    })
  | (OrderBase & {
      readonly kind: 'withdrawal'
      readonly beneficiary: PersonHints & {
        readonly account_id: string
        readonly ifsc?: string
        readonly bank_code?: string
      }
    })
  | (OrderBase & {
      readonly kind: 'refund'
      /** The key of the deposit that is paid back, in whole or in part. */
      readonly deposit_idempotency_key: string
    })

/** What a deposit's customer needs in order to pay; which fields there are depends on the method (P13). */
export interface Instructions {
  /** Links into payment apps, never a web page. */
  readonly deep_links?: readonly string[]
  readonly qr_payload?: string
  readonly payment_url?: string
  readonly bank_account?: { readonly id: string; readonly name?: string }
  readonly bank?: { readonly name?: string; readonly code?: string }
}

/**
 * The provider says that the money has moved. WARNING: amount and currency are the provider's words; compare them
 * with what was asked for before you believe it (P7).
 */
export interface ProviderSuccess {
  readonly kind: 'success'
  readonly provider_id: string
  readonly amount: Money
  readonly completed_at: Date
  readonly utr?: string
}

/** The provider has it and has not decided, or says something that we do not understand. */
export interface ProviderPending {
  readonly kind: 'pending'
  readonly provider_id: string
  readonly instructions?: Instructions
}

/**
 * The provider will not do it, or it failed there. `provider_code` is what the provider said when that is not a code
 * for merchants; `provider_id` is absent when the provider refused to take it up at all.
 */
export interface ProviderFailure {
  readonly kind: 'declined' | 'canceled'
  readonly code: ErrorCode
  readonly provider_id?: string
  readonly provider_code?: number
}

/** What a provider that was asked properly, and answered properly, says about an operation. */
export type ProviderVerdict = ProviderSuccess | ProviderPending | ProviderFailure

/** Nothing left this system, so the operation does not exist anywhere: safe to fail and to release (P4). */
export interface NotSent {
  readonly kind: 'not_sent'
  readonly reason: string
}

/** The request may have arrived. WARNING: never fail over, never use another key, keep the funds frozen (P4). */
export interface Unknown {
  readonly kind: 'unknown'
  readonly reason: string
}

/** The provider says that it has no such operation, which never proves that it will not have it yet (P4). */
export interface NotFound {
  readonly kind: 'not_found'
}

/** How a create ended. */
export type ProviderOutcome = ProviderVerdict | NotSent | Unknown

/** How a look-up ended. One that could not be sent is `unknown`: it says nothing about the create before it. */
export type LookUpOutcome = ProviderVerdict | NotFound | Unknown

/** What a provider reports by itself. */
export interface ProviderReport {
  readonly kind: OperationKind
  readonly idempotency_key: string
  readonly verdict: ProviderVerdict
}

/** A request that came in at the address for callbacks. `path` is the raw request target, `body` the exact bytes. */
export interface ReceivedCallback {
  readonly method: string
  readonly path: string
  readonly headers: ReceivedHeaders
  readonly body: Uint8Array
}

/** One way to talk to providers. No function throws for what a provider or the network does. */
export interface Connector {
  /** Whether a provider repeats its first answer to a key, so that after "not found" the same key may be sent again. */
  readonly create_is_idempotent: boolean
  /** Asks for an operation. `signal` gives up waiting, which leaves the outcome `unknown` if anything was sent. */
  create(
    account: ProviderAccount,
    order: ProviderOrder,
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<ProviderOutcome>
  /** Asks how an operation stands. */
  lookUp(
    account: ProviderAccount,
    idempotency_key: string,
    kind: OperationKind,
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<LookUpOutcome>
  /** What a callback reports, or `undefined` when it is not proved to be the account's own, or not a report. */
  verifyCallback(account: ProviderAccount, callback: ReceivedCallback): ProviderReport | undefined
}
