import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import { instructionsOf } from './instructions.ts'
import type { Order } from './order.ts'
import type { CallbackContent, CreateResponse, FinalResult, OperationKind, Scenario } from './scenario.ts'

/**
 * An operation as it is stored. Its final result and the time of completion are decided at creation and never change,
 * so its status follows from the clock and needs no write. Only its effects, the callbacks that remain, and the
 * `refunds` of a deposit change.
 */
export interface Operation extends EffectDocument {
  readonly account_id: string
  readonly idempotency_key: string
  /** The sandbox's own id of the operation, as any provider has one. */
  readonly provider_id: string
  readonly kind: OperationKind
  readonly method: string
  readonly amount: bigint
  readonly currency: string
  readonly deposit_idempotency_key?: string | undefined
  readonly create_response: CreateResponse
  readonly result: FinalResult
  /** When the operation becomes final; absent when it stays pending permanently. */
  readonly completes_at?: Date | undefined
  /** The bank's reference of a withdrawal, which reports show after success. */
  readonly utr?: string | undefined
  readonly callback_url: string
  readonly created_at: Date
  /** The accepted refunds of a deposit. They are part of it, so that one guarded write keeps their sum within it. */
  readonly refunds?: readonly { readonly idempotency_key: string; readonly amount: bigint }[]
  /** When it was last written, in an operation that can be forgotten. The store derives it. */
  readonly test_ended_at?: Date | undefined
}

/**
 * Makes the operation of an order, without effects; `delay_ms` is how long an ordinary one stays pending. A deposit that
 * would succeed at or after its `expires_at` stays pending, because customers cannot pay after that time.
 */
export function newOperation(
  account_id: string,
  order: Order,
  scenario: Scenario,
  {
    provider_id,
    now,
    delay_ms,
  }: { readonly provider_id: string; readonly now: Date; readonly delay_ms: number },
): Operation {
  const completes_at = new Date(now.getTime() + (scenario.completes === 'later' ? delay_ms : 0))
  const is_too_late =
    order.kind === 'deposit' && scenario.completes === 'later' && completes_at >= order.expires_at
  return {
    account_id,
    idempotency_key: order.idempotency_key,
    provider_id,
    kind: order.kind,
    method: order.method,
    amount: order.amount,
    currency: order.currency,
    deposit_idempotency_key: order.kind === 'refund' ? order.deposit_idempotency_key : undefined,
    create_response: scenario.create_response,
    result: scenario.result,
    completes_at: scenario.completes === 'never' || is_too_late ? undefined : completes_at,
    utr: order.kind === 'withdrawal' ? utrOf(provider_id) : undefined,
    callback_url: order.callback_url,
    created_at: now,
    effects: [],
  }
}

/**
 * Whether an operation can be forgotten after a time without a change: its result and its callbacks are over, also
 * when its callbacks used up their tries. A withdrawal that stays
 * pending is asked for permanently, because its payment never ends; a deposit expires.
 */
export function canEnd({ kind, completes_at, effects }: Operation): boolean {
  return effects.every(({ stuck }) => stuck) && (kind !== 'withdrawal' || completes_at !== undefined)
}

/** Whether an order has the content of an operation. One key must never name two different payments. */
export function matchesOrder(operation: Operation, order: Order): boolean {
  return (
    operation.kind === order.kind &&
    operation.amount === order.amount &&
    operation.currency === order.currency &&
    operation.method === order.method &&
    (order.kind !== 'refund' || operation.deposit_idempotency_key === order.deposit_idempotency_key)
  )
}

/** Whether a deposit has succeeded, so that it can be refunded. */
export function isPaid(operation: Operation, at: Date): boolean {
  return operation.result.status === 'success' && isFinal(operation, at)
}

/** The report of an operation at a time, in the form of the protocol: the response to a create or a lookup. */
export function reportOf(operation: Operation, at: Date, base_url: string) {
  if (isFinal(operation, at)) return finalReport(operation)
  const instructions = operation.kind === 'deposit' ? instructionsOf(operation, base_url) : undefined
  return { ...pendingReport(operation), instructions }
}

/** The report that a callback carries. */
export function callbackReport(operation: Operation, content: CallbackContent) {
  if (content === 'pending') return pendingReport(operation)
  const report = finalReport(operation)
  return content === 'other_amount' ? { ...report, amount: report.amount + 1 } : report
}

function isFinal({ completes_at }: Operation, at: Date): boolean {
  return completes_at !== undefined && completes_at <= at
}

function pendingReport({ kind, idempotency_key, provider_id, amount, currency }: Operation) {
  return { kind, idempotency_key, provider_id, status: 'pending', amount: Number(amount), currency }
}

function finalReport(operation: Operation) {
  const { result, completes_at, utr } = operation
  return {
    ...pendingReport(operation),
    ...result,
    completed_at: completes_at?.toISOString(),
    utr: result.status === 'success' ? utr : undefined,
  }
}

/** Twelve digits, a usual form of bank references, derived from the random end of the id. */
function utrOf(provider_id: string): string {
  return String(BigInt(`0x${provider_id.slice(-12)}`) % 10n ** 12n).padStart(12, '0')
}
