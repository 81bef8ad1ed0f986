import { backoffDelay } from '#lib/platform/backoff.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import type { Order } from '../http/protocol.ts'
import { type Instructions, instructionsOf } from './instructions.ts'
import type { AnswerForm, CallbackForm, Kind, Scenario, Verdict } from './scenarios.ts'

/**
 * An operation as this provider keeps it. How and when it ends is decided at its creation and never changes, so that
 * its state is a function of the time and needs no write; only what callbacks are left does.
 */
export interface Transaction {
  readonly account_id: string
  readonly idempotency_key: string
  readonly provider_id: string
  readonly kind: Kind
  readonly method: string
  readonly amount: bigint
  readonly currency: string
  readonly deposit_idempotency_key?: string
  readonly answer: AnswerForm
  readonly verdict: Verdict
  /** Absent when it stays pending for ever. */
  readonly settles_at?: Date
  /** The bank's reference of a withdrawal, told once it has succeeded. */
  readonly utr?: string
  readonly callback_url: string
  /** What the caller has not acknowledged yet, in order. */
  readonly callbacks: readonly CallbackForm[]
  /** How many tries have failed since the last acknowledgement. */
  readonly callback_attempts: number
  /** When the next try is due; absent when there is none, which takes it out of the index of due ones. */
  readonly callback_due_at?: Date
  readonly created_at: Date
  /** When the store drops it. */
  readonly kept_until: Date
}

/** An operation as the protocol shows it: the answer to a create or a look-up, and the body of a callback. */
export interface Report {
  readonly kind: Kind
  readonly idempotency_key: string
  readonly provider_id: string
  readonly status: 'pending' | Verdict['status']
  readonly code?: number
  readonly amount: number
  readonly currency: string
  readonly completed_at?: string
  readonly utr?: string
  readonly instructions?: Instructions
}

const KEPT_MS = 7 * 24 * 3600 * 1000

/**
 * The operation that an order starts, with its end. A deposit that would be paid only after its `expires_at` stays
 * pending: nobody pays at a counter that has closed.
 */
export function newTransaction(
  account_id: string,
  order: Order,
  scenario: Scenario,
  { now, delay_ms }: { readonly now: Date; readonly delay_ms: number },
): Transaction {
  const provider_id = uuidv7()
  const settles_at = new Date(now.getTime() + (scenario.settles === 'later' ? delay_ms : 0))
  const too_late = order.kind === 'deposit' && scenario.settles === 'later' && settles_at >= order.expires_at
  const settles = scenario.settles !== 'never' && !too_late
  const callbacks = settles ? scenario.callbacks : []
  return {
    account_id,
    idempotency_key: order.idempotency_key,
    provider_id,
    kind: order.kind,
    method: order.method,
    amount: order.amount,
    currency: order.currency,
    ...(order.kind === 'refund' ? { deposit_idempotency_key: order.deposit_idempotency_key } : {}),
    answer: scenario.answer,
    verdict: scenario.verdict,
    ...(settles ? { settles_at } : {}),
    ...(order.kind === 'withdrawal' ? { utr: utrOf(provider_id) } : {}),
    callback_url: order.callback_url,
    callbacks,
    callback_attempts: 0,
    ...(callbacks.length > 0 ? { callback_due_at: settles_at } : {}),
    created_at: now,
    kept_until: new Date(now.getTime() + KEPT_MS),
  }
}

/** A callback that nobody acknowledges is tried so often, over 3 to 6 minutes. */
const TRIES_MAX = 12
const CALLBACK_BACKOFF = { first_ms: 1_000, max_ms: 60_000 }

/** The transaction after a try to send its callbacks, of which the first `acknowledged` got through; `random` in [0, 1) jitters the pause. */
export function afterTry(
  transaction: Transaction,
  acknowledged: number,
  now: Date,
  random: number,
): Transaction {
  const { callback_due_at: _, ...rest } = transaction
  const callbacks = transaction.callbacks.slice(acknowledged)
  if (callbacks.length === 0) return { ...rest, callbacks, callback_attempts: 0 }
  const callback_attempts = acknowledged > 0 ? 1 : transaction.callback_attempts + 1
  if (callback_attempts >= TRIES_MAX) return { ...rest, callbacks, callback_attempts }
  const delay_ms = backoffDelay(callback_attempts, CALLBACK_BACKOFF, random)
  return { ...rest, callbacks, callback_attempts, callback_due_at: new Date(now.getTime() + delay_ms) }
}

/** Whether an order is the one that a transaction was made from: the same key must never stand for two payments. */
export function isOf(transaction: Transaction, order: Order): boolean {
  return (
    transaction.kind === order.kind &&
    transaction.amount === order.amount &&
    transaction.currency === order.currency &&
    transaction.method === order.method &&
    (order.kind !== 'refund' || transaction.deposit_idempotency_key === order.deposit_idempotency_key)
  )
}

/** Whether a deposit has been paid, so that it can be refunded. */
export function isPaid(transaction: Transaction, at: Date): boolean {
  return transaction.verdict.status === 'success' && isSettled(transaction, at)
}

/** The operation as it stands at an instant. */
export function reportOf(transaction: Transaction, at: Date, base_url: string): Report {
  if (isSettled(transaction, at)) return settledReport(transaction)
  const instructions = transaction.kind === 'deposit' ? instructionsOf(transaction, base_url) : undefined
  return { ...pendingReport(transaction), ...(instructions === undefined ? {} : { instructions }) }
}

/** What one callback says. */
export function callbackReport(transaction: Transaction, form: CallbackForm): Report {
  if (form === 'pending') return pendingReport(transaction)
  const report = settledReport(transaction)
  return form === 'other_amount' ? { ...report, amount: report.amount + 1 } : report
}

function isSettled({ settles_at }: Transaction, at: Date): boolean {
  return settles_at !== undefined && settles_at <= at
}

function pendingReport(transaction: Transaction): Report {
  return {
    kind: transaction.kind,
    idempotency_key: transaction.idempotency_key,
    provider_id: transaction.provider_id,
    status: 'pending',
    amount: Number(transaction.amount),
    currency: transaction.currency,
  }
}

function settledReport(transaction: Transaction): Report {
  const { verdict, settles_at, utr } = transaction
  return {
    ...pendingReport(transaction),
    ...verdict,
    ...(settles_at === undefined ? {} : { completed_at: settles_at.toISOString() }),
    ...(utr !== undefined && verdict.status === 'success' ? { utr } : {}),
  }
}

/** Twelve digits as the banks of several countries use them, taken from the random end of the id. */
function utrOf(provider_id: string): string {
  return String(BigInt(`0x${provider_id.slice(-12)}`) % 10n ** 12n).padStart(12, '0')
}
