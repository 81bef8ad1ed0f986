import { applyProviderUpdate, endOperation, type ProviderUpdate } from './apply-provider-update.ts'
import type { NotFound } from './call-result.ts'
import { type OperationRef, operationOf } from './operation.ts'
import { addEffect, type Payment } from './payment.ts'
import { lookUpLateEffect } from './payment-effects.ts'
import { requireRefund, withRefund } from './refund.ts'

/** The operator's decision on a payment or refund, by its id, and when it was made. */
export interface OperatorDecision {
  readonly decision: string
  readonly is_paid: boolean
  readonly at: Date
  /** Whether the provider reports by itself what it decides later. */
  readonly sends_callbacks: boolean
  /** The earlier attempt that was paid, if it is not the current one. */
  readonly paid_attempt?: number | undefined
}

/**
 * Ends an open operation as the operator decides, like the word of its provider, with the requested amount. What the
 * provider reports later may contradict it, and is an anomaly then (P7); a provider without callbacks is asked for it. Pure.
 * Throws for an operation that has ended.
 */
export function endByOperator(
  payment: Payment,
  refund_id: string | undefined,
  { decision, is_paid, at, sends_callbacks, paid_attempt }: OperatorDecision,
): Payment {
  const ended = endOperation(payment, operationOf(payment, refund_id), is_paid ? 'success' : 'not_paid', {
    at,
    error_code: is_paid ? undefined : 6044,
  })
  const decided =
    refund_id === undefined
      ? { ...ended, operator_decision: decision, paid_attempt }
      : withRefund(ended, { ...requireRefund(ended, refund_id), operator_decision: decision })
  return sends_callbacks ? decided : addLateLookup(decided, refund_id, at)
}

const HOUR_MS = 3_600_000

/** How long after its end an operation is looked up: most late money comes soon, or with the next bank day. */
const LATE_LOOKUPS_MS = [HOUR_MS, 24 * HOUR_MS]

/**
 * Adds the next late lookup of an operation that ended without its provider's word: by expiry, or by the operator. A
 * provider without callbacks would otherwise never say that it decided differently (P7). Changes nothing after the last
 * one. Pure.
 */
export function addLateLookup(payment: Payment, refund_id: string | undefined, at: Date): Payment {
  const { ended_at, status } = operationOf(payment, refund_id)
  if (!ended_at) throw new TypeError(`an operation in ${status} has not ended`)
  const times = LATE_LOOKUPS_MS.map((after_ms) => new Date(ended_at.getTime() + after_ms))
  const due_at = times.find((time) => time > at)
  if (!due_at) return payment
  return addEffect(payment, lookUpLateEffect.newEffect(payment, { refund_id }, { at, due_at }))
}

type LateUpdate = OperationRef & {
  readonly result: ProviderUpdate['result'] | NotFound
  readonly at: Date
}

/**
 * Records what a late lookup found as an anomaly if it contradicts the end of the operation, and adds the next one. Pure.
 */
export function applyLateLookup(payment: Payment, { result, ...named }: LateUpdate): Payment {
  const { refund_id, at } = named
  const updated =
    result.kind === 'not_found' ? payment : applyProviderUpdate(payment, { ...named, result, poll_at: at })
  return addLateLookup(updated, refund_id, at)
}
