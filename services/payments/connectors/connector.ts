import type { Money } from '#lib/contract/money.ts'
import type { ReceivedHeaders } from '#lib/platform/crypto/signed-request.ts'
import type { CallResult, ProviderStatus, Unknown } from '../domain/call-result.ts'
import type { ProviderAccount } from './provider-accounts.ts'

/** The operations that a provider can perform. */
export type OperationKind = 'deposit' | 'withdrawal' | 'refund'

/** What the merchant reported about a person. Providers may ignore all of it. */
export interface PersonDetails {
  readonly email?: string
  readonly phone?: string
  readonly first_name?: string
  readonly last_name?: string
}

interface OrderBase {
  /** The permanent name of this operation: up to 128 characters of `A-Z a-z 0-9 . _ : -`. */
  readonly idempotency_key: string
  readonly amount: Money
  readonly method: string
  /** The URL for the provider's callbacks. The signature of a callback covers its path. */
  readonly callback_url: string
  /**
   * True when the same key may have been sent before, with an unknown result. A refusal is then `unknown` too, because
   * the earlier request may have been accepted. Only a lookup can tell.
   */
  readonly earlier_result_unknown?: boolean
}

/** A request for one operation at a provider. */
export type ProviderOrder =
  | (OrderBase & {
      readonly kind: 'deposit'
      readonly expires_at: Date
      readonly payer: PersonDetails & { readonly customer_account_id?: string }
    })
  | (OrderBase & {
      readonly kind: 'withdrawal'
      readonly beneficiary: PersonDetails & {
        /** The number of the bank account: an account number, CLABE, CBU, CVU or IBAN. Not a provider account. */
        readonly account_id: string
        readonly ifsc?: string
        readonly bank_code?: string
      }
    })
  | (OrderBase & {
      readonly kind: 'refund'
      /** The idempotency key of the deposit that is refunded, fully or partially. */
      readonly deposit_idempotency_key: string
    })

/** The provider has no such operation. This does not prove that the request will not arrive later (P4). */
export interface NotFound {
  readonly kind: 'not_found'
}

/** The result of a lookup. A lookup that was not sent is `unknown`: it proves nothing about the create. */
export type LookupResult = ProviderStatus | NotFound | Unknown

/** What a provider reports about one operation, in a response or a callback. */
export interface ProviderReport {
  readonly kind: OperationKind
  readonly idempotency_key: string
  readonly result: ProviderStatus
}

/** A request at the address for callbacks. `path` is the raw request target, `body` the exact bytes. */
export interface ProviderCallback {
  readonly method: string
  readonly path: string
  readonly headers: ReceivedHeaders
  readonly body: Uint8Array
}

/** The code for one provider protocol. Errors of the provider or the network are results, never exceptions. */
export interface Connector {
  /**
   * For how long after the first request providers treat a repeated key as the same operation. Within this time a create
   * with an unknown result is sent again after "not found" (P4). Absent or 0: never. A provider that keeps its keys
   * permanently has an infinite window.
   */
  readonly idempotency_window_ms?: number
  /** Creates an operation. `signal` ends the wait; the result is then `unknown` if anything was sent. */
  create(
    account: ProviderAccount,
    order: ProviderOrder,
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<CallResult>
  /** Reads the status of an operation. */
  lookUp(
    account: ProviderAccount,
    idempotency_key: string,
    kind: OperationKind,
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<LookupResult>
  /** The report of a callback; `undefined` when the account did not sign it or it is not a valid report. */
  verifyCallback(account: ProviderAccount, callback: ProviderCallback): ProviderReport | undefined
}
