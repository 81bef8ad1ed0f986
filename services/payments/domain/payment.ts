import type { BankAccount } from '#lib/contract/bank-account.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import type { RefundStatus } from '#lib/contract/public-support.ts'
import type { Effect, EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { CreateRecord, Instructions, OperationKind, ReportRecord } from './call-result.ts'

/** One status that the payment has entered. */
interface HistoryEntry {
  readonly status: PaymentStatus
  readonly at: Date
  readonly amount: bigint
  readonly reason?: string | undefined
}

/** What a provider account was when an operation was about to be sent to it. */
export interface AccountStamp {
  /** The digest of its connector, its base URL and its identity at the provider; empty when it was not configured. */
  readonly fingerprint: string
  readonly at: Date
}

/** What is known of an operation at its provider beyond its result: kept for each attempt and each refund (P4). */
export interface ProviderRecord {
  /** The account before the last send. What it does not know later counts only while it is the same one (P4). */
  readonly account?: AccountStamp | undefined
  /** The provider's own id, from its first report on. Once it is known, the key of the operation is never sent again. */
  readonly provider_id?: string | undefined
  /** What else the provider calls the operation, as it reported last: a name that may change, such as of one transaction. */
  readonly transaction_id?: string | undefined
  /** Whether a report named another id. Two operations may exist then, so no deposit is declined unseen. */
  readonly has_other_id?: boolean | undefined
  /** Since when lookups do not find an operation that has an id; absent when the last report is newer. */
  readonly not_found_since?: Date | undefined
  /**
   * Whether the restored backup has its hold without the ledger's decision. It may have been refused since, and its merchant told so:
   * its key is never sent (P19).
   */
  readonly is_hold_unknown?: boolean | undefined
}

/** What is known of one attempt at its account. */
export interface AttemptRecord extends ProviderRecord {
  readonly number: number
}

/**
 * What a restore leaves open about an operation that was open in its backup (P19). `asking_accounts`: an account has not said yet
 * what it knows, so nothing is sent. `accounts_answered`: all have, and its key may still have been sent after the backup. `booked`: the
 * ledger has booked the success of the payment, and no account has said yet that it was paid there.
 */
export type RestoreMark = 'asking_accounts' | 'accounts_answered' | 'booked'

/** The internal status of a refund. `approving` waits for the ledger's decision on its hold; merchants see `pending`. */
export type RefundState = RefundStatus | 'approving'

/**
 * A refund as its payment keeps it: what the amount, the money and the provider need. Texts of the merchant and of the
 * operator are kept by the support service only, so that this record stays small.
 */
export interface Refund extends ProviderRecord {
  readonly refund_id: string
  readonly amount: bigint
  readonly state: RefundState
  /** The number of the last change that was reported; 1 is the request. */
  readonly change_number: number
  /** The number of approvals. Each has a hold of its own, because the ledger's refusal of a hold is permanent. */
  readonly holds: number
  /** The code with which the ledger refused the last hold. */
  readonly hold_refusal?: ErrorCode | undefined
  readonly created_at: Date
  readonly approved_at?: Date | undefined
  /** When the first result that decided nothing was stored; absent until then. Its request had been sent by then. */
  readonly undecided_since?: Date | undefined
  /** When the refund was completed, failed, rejected or canceled. */
  readonly ended_at?: Date | undefined
  /** Why the refund failed. */
  readonly error_code?: ErrorCode | undefined
  readonly restored?: RestoreMark | undefined
  /** The id of the operator's decision that ended the refund; absent when its provider ended it. */
  readonly operator_decision?: string | undefined
}

/** The provider account that an approved refund waits for, and since when. */
export interface OpenRefund {
  readonly account_id: string
  readonly since: Date
}

/** A chargeback as its payment keeps it (S10). */
export interface PaymentChargeback {
  readonly chargeback_id: string
  readonly amount: bigint
  /** Whether the merchant has won it: it was credited back and no longer counts against the payment (S8). */
  readonly is_won: boolean
  readonly created_at: Date
}

/** What all payments have, also those that merchants never see. */
interface PaymentFields extends EffectDocument {
  readonly merchant_id: string
  readonly environment: Environment
  readonly c_id: string
  readonly payment_id: string
  readonly h_id: string
  /** The references by which the payment is found (`referencesOf`); the store derives them. */
  readonly ids?: readonly string[]
  /** The request id of the merchant's request that created it. */
  readonly request_id?: string | undefined
  readonly p_id?: string | undefined
  readonly utr?: string | undefined
  readonly direction: Direction
  readonly service_id: string
  readonly method: string
  readonly currency: string
  readonly amount: bigint
  /**
   * What the merchant says about the payment, as an encoded `MerchantDetails`. It is kept as it is, with the fields of a
   * newer gateway that this process does not know.
   */
  readonly details?: Uint8Array | undefined
  /** The bank account of the recipient. Every withdrawal has one, a deposit has none. */
  readonly beneficiary?: BankAccount | undefined
  /** A callback address for this payment only. The secret is sealed under `ownerOfWebhookSecret`. */
  readonly webhook?: { readonly url: string; readonly sealed_secret: string } | undefined
  /** The provider accounts of the route when the payment was created, in the order in which they are tried. */
  readonly provider_accounts: readonly string[]
  /** The try at one account. Its idempotency key is `<payment_id>:<number>`, so that no attempt is paid twice. */
  readonly attempt: { readonly number: number; readonly account_id: string; readonly created_at: Date }
  /** What is known of each attempt at its account. */
  readonly attempts?: readonly AttemptRecord[]
  /** The last creates and reports, for the operator alone: nothing is decided by them. */
  readonly creates?: readonly CreateRecord[]
  readonly reports?: readonly ReportRecord[]
  readonly restored?: RestoreMark | undefined
  /**
   * The attempts whose success was reported while another attempt was current. While there are any, no create is sent
   * again (P4).
   */
  readonly earlier_successes?: readonly number[]
  /** The attempts other than the current one that their accounts have called pending, and not failed since. */
  readonly pending_elsewhere?: readonly number[]
  /** The highest attempt so far; absent while the payment has not gone back to an earlier one. */
  readonly highest_attempt?: number
  /** The earlier attempt that the operator found to be paid; absent when the current one was. */
  readonly paid_attempt?: number | undefined
  /** When what identifies a person was erased (O11): there are no details, beneficiary or instructions any more. */
  readonly erased_at?: Date | undefined
  /** Set in a restored payment that was erased after its backup and is open again: it is erased when it ends. */
  readonly erase_when_ended?: true | undefined
  /** See `erasableSince`; the store derives it. */
  readonly erasable_since?: Date | undefined
  /** See `archivableSince`; the store derives it. */
  readonly archivable_since?: Date | undefined
  /** See `testEndedAt`; the store derives it. */
  readonly test_ended_at?: Date | undefined
  /** See `openRefundOf`; the store derives it. */
  readonly open_refund?: OpenRefund | undefined
  /** How the customer pays, as the provider reported it (P13). */
  readonly instructions?: Instructions | undefined
  /** The id of the operator's decision that ended the payment; absent when its provider ended it. */
  readonly operator_decision?: string | undefined
  /** The ids of the effects that recorded anomalies of this payment. */
  readonly anomalies?: readonly string[]
  /** The refunds of a deposit, oldest first (S8). At most one is active. */
  readonly refunds?: readonly Refund[]
  /** The chargebacks of a deposit, oldest first (S10). */
  readonly chargebacks?: readonly PaymentChargeback[]
  /**
   * The last refunds and chargebacks that were refused, by their ids. A request that the network delivers again, late, gets
   * the same refusal, also when the payment has room by then.
   */
  readonly reservation_refusals?: readonly { readonly id: string; readonly code: ErrorCode }[]
  readonly error_code?: number | undefined
  readonly history: readonly HistoryEntry[]
  readonly created_at: Date
  readonly updated_at: Date
  /** When the payment became final; for a success, the provider's own time. */
  readonly finished_at?: Date | undefined
  /** When a deposit is declined. Withdrawals do not expire (P8). */
  readonly expires_at?: Date
}

/** A payment as stored: one document, which includes the effects that must follow its last change. */
export interface Payment extends PaymentFields {
  readonly status: PaymentStatus
}

/** A withdrawal whose hold the ledger has not decided: no merchant sees it, and no event reports it (P3). */
export interface ReservingWithdrawal extends PaymentFields {
  readonly status: 'reserving'
  /** The HMAC of the merchant's canonical request. */
  readonly payload_mac: string
  /** The other requests under its `c_id` that were refused shortly before (P3), the newest last; bounded. */
  readonly earlier_refusals?: readonly EarlierRefusal[] | undefined
}

/** A refused request for a withdrawal, as what came after it under its `c_id` remembers it (P3). */
export interface EarlierRefusal {
  readonly payload_mac: string
  readonly error_code: ErrorCode
  readonly at: Date
}

/**
 * A withdrawal that the ledger refused with `error_code`. It keeps its `c_id` for 60 seconds, so that the same request gets the
 * same refusal; another request replaces it (P3). A restored one keeps its `c_id` permanently (P19).
 */
export interface RefusedWithdrawal extends PaymentFields {
  readonly status: 'refused'
  readonly payload_mac: string
  readonly earlier_refusals?: readonly EarlierRefusal[] | undefined
  readonly error_code: ErrorCode
}

/** Any document of the collection of payments. */
export type StoredPayment = Payment | ReservingWithdrawal | RefusedWithdrawal

/** Whether merchants can see the payment: every deposit, and the withdrawals that the ledger admitted (P3). */
export function isAdmitted<D extends StoredPayment>(document: D): document is D & Payment {
  return document.status !== 'reserving' && document.status !== 'refused'
}

/** Returns an admitted payment as such. Throws for a withdrawal that the ledger has not admitted. */
export function requireAdmitted<D extends StoredPayment>(document: D): D & Payment {
  if (!isAdmitted(document)) throw new Error(`the withdrawal ${document.payment_id} is not admitted`)
  return document
}

/** The name of the payment's operation at the provider. */
export function operationKindOf({ direction }: Pick<Payment, 'direction'>): Exclude<OperationKind, 'refund'> {
  return direction === 'in' ? 'deposit' : 'withdrawal'
}

/** The id of a withdrawal's hold in the ledger. Each withdrawal has one, which is captured or released once. */
export function holdIdOf({ payment_id }: Pick<Payment, 'payment_id'>): string {
  return `${payment_id}:hold`
}

/**
 * The payment with the attempt that it was paid at as its current one, so that its refunds go to that account, under
 * the key of that deposit (S9).
 */
export function asPaid<D extends PaymentFields>(payment: D): D {
  const { paid_attempt: number = 0, provider_accounts, created_at } = payment
  const account_id = provider_accounts[number - 1]
  return account_id === undefined ? payment : { ...payment, attempt: { number, account_id, created_at } }
}

/** Adds an effect unless the payment has it already. */
export function addEffect<Document extends StoredPayment>(payment: Document, effect: Effect): Document {
  if (payment.effects.some(({ id }) => id === effect.id)) return payment
  return { ...payment, effects: [...payment.effects, effect] }
}

/** The fields of a route that its payments need. */
export interface PaymentRoute {
  readonly service_id: string
  readonly merchant_id: string
  readonly environment: Environment
  readonly direction: Direction
  readonly method: string
  readonly currency: string
  readonly connector: string
  readonly provider_accounts: readonly string[]
  readonly numeric_h_id: boolean
  readonly expires_in_seconds: number
  readonly minimum_amount: bigint
  /** In minor units; 0 means no limit (P14). The ledger decides by them. */
  readonly withdrawal_limits: {
    /** The IANA name of the timezone in which days and months begin. */
    readonly timezone: string
    readonly maximum: bigint
    readonly daily: bigint
    readonly monthly: bigint
    readonly since_settlement: bigint
  }
  readonly enabled: boolean
}
