import type { Money } from '#lib/contract/money.ts'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { CallResult, OperationKind } from './call-result.ts'
import {
  asPaid,
  attemptKey,
  operationKindOf,
  type Payment,
  type Refund,
  type RefundState,
} from './payment.ts'
import { findRefund, refundKey, requireRefund } from './refund.ts'

/**
 * What the ledger posts: the credit of a deposit, the end of a hold (`capture`, `release`), or a chargeback (`debit`), which
 * the merchant may win (`return`).
 */
export type Posting = 'credit' | 'capture' | 'release' | 'debit' | 'return'

/** The kinds of results that end an operation. */
export type Verdict = Exclude<CallResult['kind'], 'pending' | 'unknown'>

/** What makes one kind of operation differ from the others. The code branches on these fields only. */
interface OperationRules {
  /**
   * How many creates one provider account may have in progress; deposits and withdrawals share them. Further ones wait for
   * room (P5).
   */
  readonly creates_per_account_max: number
  /** Whether a create that was certainly not sent goes to the next account of the route (P4). */
  readonly fails_over: boolean
  /** Whether the operation ends at the expiry of its payment. Any other is reported to the operator after 24 hours (P8). */
  readonly expires: boolean
  /**
   * The hold that comes before the create: whether the limits of the route count it (P14), and what the ledger's refusal
   * leaves. A refused withdrawal is deleted (P3), a refund waits for its next approval (S9).
   */
  readonly hold: { readonly has_limits: boolean; readonly when_refused: 'deleted' | 'pending' } | undefined
  /** What the ledger posts when the operation succeeds, and when it fails. */
  readonly on_success: Posting
  readonly on_failure: Posting | undefined
  /** The final status that each verdict leads to: of the payment, or of the record of the refund in it. */
  readonly ends:
    | { readonly record: 'payment'; readonly status: Readonly<Record<Verdict, PaymentStatus>> }
    | { readonly record: 'refund'; readonly status: Readonly<Record<Verdict, 'completed' | 'failed'>> }
  /** The results that cannot be true together with a final status (P7). */
  readonly contradicted_by: Readonly<Record<string, readonly CallResult['kind'][]>>
}

/** What deposits and withdrawals have in common. */
const PAYMENT_RULES = {
  // As many as one merchant can have at a gateway (E10).
  creates_per_account_max: 2_500,
  fails_over: true,
  ends: {
    record: 'payment',
    // A refusal by the provider is the public status `error`. The public status `declined` is only for expiry (P8).
    status: { success: 'success', declined: 'error', canceled: 'canceled', not_sent: 'error' },
  },
  contradicted_by: {
    success: ['declined', 'canceled'],
    partially_refunded: ['declined', 'canceled'],
    refunded: ['declined', 'canceled'],
    error: ['success', 'canceled'],
    canceled: ['success', 'declined'],
    declined: ['success'],
  },
} as const satisfies Partial<OperationRules>

/** The table of the three kinds of operations. */
export const OPERATION_RULES: Readonly<Record<OperationKind, OperationRules>> = {
  deposit: {
    ...PAYMENT_RULES,
    expires: true,
    hold: undefined,
    on_success: 'credit',
    on_failure: undefined,
  },
  withdrawal: {
    ...PAYMENT_RULES,
    expires: false,
    hold: { has_limits: true, when_refused: 'deleted' },
    on_success: 'capture',
    on_failure: 'release',
  },
  refund: {
    creates_per_account_max: 128,
    fails_over: false,
    expires: false,
    hold: { has_limits: false, when_refused: 'pending' },
    on_success: 'capture',
    on_failure: 'release',
    ends: {
      record: 'refund',
      status: { success: 'completed', declined: 'failed', canceled: 'failed', not_sent: 'failed' },
    },
    contradicted_by: {
      completed: ['declined', 'canceled'],
      failed: ['success'],
      // The provider was never asked for a refund in any of these.
      pending: ['success'],
      approving: ['success'],
      rejected: ['success'],
      canceled: ['success'],
    },
  },
}

/** Names an operation of a payment: one of its attempts, or one of its refunds. */
export type OperationRef =
  | { readonly attempt_number: number; readonly refund_id?: undefined }
  | { readonly refund_id: string; readonly attempt_number?: undefined }

/** An operation at a provider, as its payment keeps it: the current attempt of the payment, or one of its refunds. */
export interface Operation {
  readonly kind: OperationKind
  readonly refund_id: string | undefined
  /** The payment with the attempt whose account performs the operation as its current one. */
  readonly payment: Payment
  readonly idempotency_key: string
  readonly amount: Money
  readonly status: PaymentStatus | RefundState
  /** Whether its provider may decide about it: it was approved, and has not ended. */
  readonly is_open: boolean
  /** Not later than its first request. */
  readonly began_at: Date
  /** When the first result that decided nothing was stored; absent until then. Its request had been sent by then. */
  readonly undecided_since: Date | undefined
  /** When it ended; absent while it is open. */
  readonly ended_at: Date | undefined
}

/**
 * The permanent name of an operation at its provider: of the refund with this id, or of the current attempt without one.
 * Repeated requests under one key are one operation there.
 */
export function operationKey(payment: Pick<Payment, 'payment_id' | 'attempt'>, refund_id?: string): string {
  return refund_id === undefined ? attemptKey(payment) : refundKey(payment, refund_id)
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

function currentAttempt(payment: Payment): Operation {
  const { status, attempt, history, amount: minor, currency, finished_at, updated_at } = payment
  const is_open = !isFinal(status)
  const processing = history.find((entry) => entry.status === 'processing')
  return {
    kind: operationKindOf(payment),
    refund_id: undefined,
    payment,
    idempotency_key: operationKey(payment),
    amount: { minor, currency },
    status,
    is_open,
    began_at: attempt.created_at,
    undecided_since: status === 'created' ? undefined : (processing?.at ?? attempt.created_at),
    ended_at: is_open ? undefined : (finished_at ?? updated_at),
  }
}

function refundOperation(payment: Payment, refund: Refund): Operation {
  const { refund_id, amount, state, approved_at, created_at, undecided_since, ended_at } = refund
  return {
    kind: 'refund',
    refund_id,
    payment: asPaid(payment),
    idempotency_key: operationKey(payment, refund_id),
    amount: { minor: amount, currency: payment.currency },
    status: state,
    is_open: state === 'approved',
    began_at: approved_at ?? created_at,
    undecided_since,
    ended_at,
  }
}
