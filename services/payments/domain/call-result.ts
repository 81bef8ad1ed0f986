import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Money } from '#lib/contract/money.ts'

/** What a provider performs: a payment itself, or the refund of a deposit. */
export type OperationKind = 'deposit' | 'withdrawal' | 'refund'

/** What the customer needs to pay a deposit. The payment method decides which fields are allowed (P13). */
export interface Instructions {
  /** Links into payment apps, never a web page. */
  readonly deep_links?: readonly string[]
  readonly qr_payload?: string
  readonly payment_url?: string
  readonly bank_account?: { readonly id: string; readonly name?: string }
  readonly bank?: { readonly name?: string; readonly code?: string }
  /** The phone number and the identity document of a person who receives the money, where a transfer must name them. */
  readonly phone?: string
  readonly document?: { readonly type?: string; readonly number: string }
}

/** The provider reports that the money has moved. */
export interface ProviderSuccess {
  readonly kind: 'success'
  /** The provider's id of the operation, the same in all reports about its key: `p_id` on the payment (P4). */
  readonly provider_id: string
  /** Another id that the provider reports and that may change, such as of one transaction. */
  readonly transaction_id?: string | undefined
  readonly amount: Money
  readonly completed_at: Date
  readonly utr?: string | undefined
}

/** The provider has the operation and has not decided, or reports a status that the protocol does not define. */
export interface ProviderPending {
  readonly kind: 'pending'
  readonly provider_id: string
  readonly transaction_id?: string | undefined
  readonly amount?: Money
  readonly instructions?: Instructions
}

/**
 * The provider refused the operation, or it failed there. `provider_code` is the provider's code when merchants may not
 * see it. `provider_id` and `amount` are absent when the provider refused to create the operation.
 */
export interface ProviderFailure {
  readonly kind: 'declined' | 'canceled'
  readonly code: ErrorCode
  readonly provider_id?: string
  readonly transaction_id?: string | undefined
  readonly amount?: Money
  readonly provider_code?: number
}

/**
 * The result of an operation so far, from a valid message of the provider. WARNING: `amount` is the one that the
 * provider names. A result that `namesOtherAmount` must not be applied (P7).
 */
export type ProviderStatus = ProviderSuccess | ProviderPending | ProviderFailure

interface FailedCall {
  readonly reason: string
  /**
   * The provider could not be reached, or did not respond as its protocol says. The circuit breaker of the account
   * counts these. Absent when the reason is in this system, or when the provider responded properly.
   */
  readonly is_provider_failure?: true
}

/**
 * This request was not sent. If no earlier request with the same key was sent, the operation does not exist, and the
 * payment can fail and its hold can be released (P4). An earlier request may still arrive.
 */
export interface NotSent extends FailedCall {
  readonly kind: 'not_sent'
}

/** The request may have arrived. WARNING: do not fail over, do not use another key, keep the funds held (P4). */
export interface Unknown extends FailedCall {
  readonly kind: 'unknown'
}

/** The result of a create. */
export type CallResult = ProviderStatus | NotSent | Unknown

/** The provider has no such operation. This does not prove that the request will not arrive later (P4). */
export interface NotFound {
  readonly kind: 'not_found'
}

/** The result of a lookup. A lookup that was not sent is `unknown`: it proves nothing about the create. */
export type LookupResult = ProviderStatus | NotFound | Unknown

/** Whether a result names another amount or currency than was requested. */
export function namesOtherAmount(result: CallResult, requested: Money): boolean {
  const named = 'amount' in result ? result.amount : undefined
  if (named === undefined) return false
  return named.minor !== requested.minor || named.currency !== requested.currency
}

/** What an attempt of a payment, or a refund, is known by in its history. */
export interface OperationSubject {
  readonly attempt_number?: number | undefined
  readonly refund_id?: string | undefined
}

/** What came of a call to a provider or of its report: the kind of the result, and what it named. */
export interface HeardOutcome {
  readonly outcome: CallResult['kind']
  readonly provider_id?: string | undefined
  /** The code of the error table of a refusal. */
  readonly code?: ErrorCode | undefined
}

/** One create that was sent to an account, or that could not be sent, as the operator reads it (O7). */
export interface CreateRecord extends OperationSubject, HeardOutcome {
  readonly account_id: string
  readonly began_at: Date
  readonly duration_ms: number
  /** Absent when no response came. */
  readonly http_status?: number | undefined
  /** Why the create was not sent or its result is unknown: our own words. */
  readonly reason?: string | undefined
}

/** One report of a provider that changed something, as the operator reads it (O7). */
export interface ReportRecord extends OperationSubject, HeardOutcome {
  readonly at: Date
  /** Whether the provider called back; otherwise it answered a look-up. */
  readonly is_callback: boolean
}
