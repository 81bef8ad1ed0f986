import type { Money } from '#lib/contract/money.ts'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { CallResult, OperationKind } from './call-result.ts'
import {
  type AccountStamp,
  asPaid,
  holdIdOf,
  operationKindOf,
  type Payment,
  type ProviderRecord,
  type Refund,
  type RefundState,
  type RestoreMark,
} from './payment.ts'
import { recordOf } from './provider-record.ts'
import { findRefund, holdIdOfRefund, requireRefund } from './refund.ts'

/**
 * What the ledger posts: the credit of a deposit, the end of a hold (`capture`, `release`), or a chargeback (`debit`), which
 * the merchant may win (`return`).
 */
export type Posting = 'credit' | 'capture' | 'release' | 'debit' | 'return'

/**
 * The reason with which the hold of a canceled withdrawal is released. The ledger keeps it, and a restore ends the withdrawal by it
 * (P19.13). Its wording is stored: it must never change.
 */
export const CANCELED_WITHDRAWAL_REASON = 'withdrawal canceled'

/** The reason of the entry that ends a hold: for people, but for `CANCELED_WITHDRAWAL_REASON`, which a restore reads. */
export function reasonOfEnd({ kind, status }: Pick<Operation, 'kind' | 'status'>, posting: Posting): string {
  if (posting === 'capture') return kind
  return kind === 'withdrawal' && status === 'canceled' ? CANCELED_WITHDRAWAL_REASON : `${kind} failed`
}

/** What ends an operation: the word of its provider, a create that was certainly not sent, or the operator (`not_paid`). */
export type Verdict = 'success' | 'declined' | 'canceled' | 'not_sent' | 'not_paid'

/**
 * What makes one kind of operation differ from the others. All rules are in these fields. What else asks for the kind or the
 * `refund_id` reads or writes an operation where it is stored, because a refund is a part of its payment, or names it.
 */
export interface OperationRules<Final = PaymentStatus | RefundState> {
  /** The hold that comes before the create: within the limits of the route (P14), or of funds only (S9). */
  readonly hold: 'none' | 'within_limits' | 'funds_only'
  /** Whether a create that was certainly not sent goes to the next account of the route (P4). */
  readonly fails_over: boolean
  /** Whether the merchant's request waits for the create, so that all accounts share its time (P5). */
  readonly is_awaited: boolean
  /** What happens to an operation without a result: it expires, or the operator learns of it after 24 hours (P8). */
  readonly without_result: 'expires' | 'is_reported'
  /** What the ledger posts when the operation succeeds, and when it fails. */
  readonly entry_on_success: Posting
  readonly entry_on_failure: Posting | undefined
  /** The final status that each verdict leads to: of the payment, or of the refund in it. */
  readonly ends: Readonly<Record<Verdict, Final>>
  /** The results that cannot be true together with a final status (P7). */
  readonly contradicted_by: Partial<Contradictions<PaymentStatus | RefundState>>
}

type Contradictions<Status extends string> = Readonly<Record<Status, readonly CallResult['kind'][]>>

/** What deposits and withdrawals have in common. */
const PAYMENT_RULES = {
  fails_over: true,
  is_awaited: true,
  // A refusal by the provider is the public status `error`. The public status `declined` is only for expiry (P8).
  ends: { success: 'success', declined: 'error', canceled: 'canceled', not_sent: 'error', not_paid: 'error' },
  contradicted_by: {
    success: ['declined', 'canceled'],
    partially_refunded: ['declined', 'canceled'],
    refunded: ['declined', 'canceled'],
    error: ['success', 'canceled'],
    canceled: ['success', 'declined'],
    declined: ['success'],
  } satisfies Contradictions<Exclude<PaymentStatus, 'created' | 'processing'>>,
} as const

/** The table of the three kinds of operations. */
export const OPERATION_RULES: {
  readonly deposit: OperationRules<PaymentStatus>
  readonly withdrawal: OperationRules<PaymentStatus>
  readonly refund: OperationRules<'completed' | 'failed'>
} = {
  deposit: {
    ...PAYMENT_RULES,
    hold: 'none',
    without_result: 'expires',
    entry_on_success: 'credit',
    entry_on_failure: undefined,
  },
  withdrawal: {
    ...PAYMENT_RULES,
    hold: 'within_limits',
    without_result: 'is_reported',
    entry_on_success: 'capture',
    entry_on_failure: 'release',
  },
  refund: {
    hold: 'funds_only',
    fails_over: false,
    is_awaited: false,
    without_result: 'is_reported',
    entry_on_success: 'capture',
    entry_on_failure: 'release',
    ends: {
      success: 'completed',
      declined: 'failed',
      canceled: 'failed',
      not_sent: 'failed',
      not_paid: 'failed',
    },
    contradicted_by: {
      completed: ['declined', 'canceled'],
      failed: ['success'],
      // The provider was never asked for a refund in any of these.
      pending: ['success', 'pending'],
      approving: ['success'],
      rejected: ['success', 'pending'],
      canceled: ['success', 'pending'],
    } satisfies Contradictions<Exclude<RefundState, 'approved'>>,
  },
}

/** Names an operation of a payment: one of its attempts, or one of its refunds. */
export type OperationRef =
  | { readonly attempt_number: number; readonly refund_id?: undefined }
  | { readonly refund_id: string; readonly attempt_number?: undefined }

/** An operation at a provider, as its payment keeps it: the current attempt of the payment, or one of its refunds. */
export type Operation = OperationFields &
  (
    | {
        readonly kind: Exclude<OperationKind, 'refund'>
        readonly refund_id: undefined
        readonly status: PaymentStatus
      }
    | { readonly kind: 'refund'; readonly refund_id: string; readonly status: RefundState }
  )

interface OperationFields {
  /** The payment with the attempt whose account performs the operation as its current one. */
  readonly payment: Payment
  readonly idempotency_key: string
  /** Its present hold in the ledger; absent for a deposit, and for a refund that was never approved. */
  readonly hold_id: string | undefined
  readonly amount: Money
  /** Whether its provider may decide about it: it was approved, and has not ended. */
  readonly is_open: boolean
  /** What is known of it at its provider. */
  readonly record: ProviderRecord
  readonly restored: RestoreMark | undefined
  /**
   * What its account was when it was sent; a refund also needs the account of its deposit. `undefined` for an attempt or a
   * refund that was not sent before the backup that was restored.
   */
  readonly account_stamps: readonly (AccountStamp | undefined)[]
  /** Whether another account has reported that it performs the operation, or has performed it. */
  readonly may_be_elsewhere: boolean
  /** Not later than its first request. */
  readonly began_at: Date
  /** When the first result that decided nothing was stored; absent until then. Its request had been sent by then. */
  readonly undecided_since: Date | undefined
  /** When it ended; absent while it is open. */
  readonly ended_at: Date | undefined
  /** The id of the operator's decision that ended it; absent when its provider ended it. */
  readonly operator_decision: string | undefined
}

/**
 * The permanent name of an operation at its provider: of the refund with this id, or of the current attempt without one.
 * Repeated requests under one key are one operation there.
 */
export function operationKey(
  { payment_id, attempt }: Pick<Payment, 'payment_id' | 'attempt'>,
  refund_id?: string,
): string {
  return `${payment_id}:${refund_id === undefined ? attempt.number : `${REFUND_PREFIX}${refund_id}`}`
}

const REFUND_PREFIX = 'refund:'

/** The payment of the operation that an idempotency key names. */
export function paymentIdOf(key: string): string {
  return key.slice(0, key.indexOf(':'))
}

/** The operation that an idempotency key names; `undefined` when it is not a key of this payment. */
export function refOfKey({ payment_id }: Pick<Payment, 'payment_id'>, key: string): OperationRef | undefined {
  const prefix = `${payment_id}:`
  if (!key.startsWith(prefix)) return undefined
  const name = key.slice(prefix.length)
  if (name.startsWith(REFUND_PREFIX)) return { refund_id: name.slice(REFUND_PREFIX.length) }
  return /^[1-9][0-9]{0,3}$/.test(name) ? { attempt_number: Number(name) } : undefined
}

/** The operation of a payment: the refund with this id, or the current attempt without one. Throws for an unknown refund. */
export function operationOf(payment: Payment, refund_id?: string): Operation {
  return refund_id === undefined
    ? currentAttempt(payment)
    : refundOperation(payment, requireRefund(payment, refund_id))
}

/** The operation of a payment, as by `operationOf`; `undefined` for an unknown refund. */
export function findOperation(payment: Payment, refund_id?: string): Operation | undefined {
  const is_unknown = refund_id !== undefined && findRefund(payment, refund_id) === undefined
  return is_unknown ? undefined : operationOf(payment, refund_id)
}

/**
 * Every operation that a restored one may have become since its backup: the attempts at all accounts of the route, whose keys
 * follow from their numbers, or the refund, which has one account (P19).
 */
export function operationsToFind(payment: Payment, refund_id: string | undefined): Operation[] {
  const operation = operationOf(payment, refund_id)
  if (!OPERATION_RULES[operation.kind].fails_over) return [operation]
  const { created_at } = payment
  return payment.provider_accounts.map((account_id, index) =>
    operationOf({ ...payment, attempt: { number: index + 1, account_id, created_at } }),
  )
}

/** The name of an operation in a report about it: a payment is named by its attempt. */
export function refOf({ refund_id, payment }: Operation): OperationRef {
  return refund_id === undefined ? { attempt_number: payment.attempt.number } : { refund_id }
}

/** Whether an operation is still the one that a reference names: the payment has not gone to another attempt. */
export function isCurrent(
  { attempt }: Payment,
  { attempt_number }: { readonly attempt_number?: number | undefined },
): boolean {
  return attempt_number === undefined || attempt_number === attempt.number
}

function currentAttempt(payment: Payment): Operation {
  const { status, attempt, history, amount: minor, currency, finished_at, updated_at, restored } = payment
  const { earlier_successes = [], pending_elsewhere = [], operator_decision } = payment
  const kind = operationKindOf(payment)
  const is_open = !isFinal(status)
  const record = recordOf(payment, { attempt_number: attempt.number })
  const processing = history.find((entry) => entry.status === 'processing')
  return {
    kind,
    refund_id: undefined,
    payment,
    idempotency_key: operationKey(payment),
    hold_id: OPERATION_RULES[kind].hold === 'none' ? undefined : holdIdOf(payment),
    amount: { minor, currency },
    status,
    is_open,
    record,
    account_stamps: [record.account],
    restored,
    may_be_elsewhere: earlier_successes.length + pending_elsewhere.length > 0,
    // The first request may have left after the backup, and before the attempt that is known began again.
    began_at: restored ? payment.created_at : attempt.created_at,
    undecided_since: status === 'created' ? undefined : (processing?.at ?? attempt.created_at),
    ended_at: is_open ? undefined : (finished_at ?? updated_at),
    operator_decision,
  }
}

function refundOperation(payment: Payment, refund: Refund): Operation {
  const { refund_id, amount, state, approved_at, created_at, undecided_since, ended_at, restored } = refund
  const paid = asPaid(payment)
  const deposit = recordOf(paid, { attempt_number: paid.attempt.number })
  // Not approved yet, it is sent to whatever the account is then.
  const is_sent = refund.account !== undefined || restored === 'asking_accounts'
  return {
    kind: 'refund',
    refund_id,
    payment: paid,
    idempotency_key: operationKey(payment, refund_id),
    hold_id: refund.holds === 0 ? undefined : holdIdOfRefund(refund),
    amount: { minor: amount, currency: payment.currency },
    status: state,
    is_open: state === 'approved',
    record: refund,
    account_stamps: [deposit.account, ...(is_sent ? [refund.account] : [])],
    // It is sent to the account of its deposit only.
    may_be_elsewhere: false,
    restored,
    began_at: restored ? created_at : (approved_at ?? created_at),
    undecided_since,
    ended_at,
    operator_decision: refund.operator_decision,
  }
}
