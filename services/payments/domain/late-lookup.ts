import { isFinal } from '#lib/contract/payment-status.ts'
import { applyProviderUpdate, type ProviderUpdate } from './apply-provider-update.ts'
import { applyRefundUpdate, type RefundUpdate } from './apply-refund-update.ts'
import type { NotFound } from './call-result.ts'
import { addEffect, type Payment } from './payment.ts'
import { lookUpLateEffect } from './payment-effects.ts'
import { requireRefund } from './refund.ts'
import { lookUpRefundLateEffect } from './refund-effects.ts'

const HOUR_MS = 3_600_000

/**
 * How long after the end of a payment or refund its provider is asked again: most late money comes soon, or with the
 * next bank day.
 */
const LATE_LOOKUPS_MS = [HOUR_MS, 24 * HOUR_MS]

/** When to ask about what ended at `ended_at`, the next time after `at`; `undefined` after the last time. */
function nextLookup(ended_at: Date, at: Date): Date | undefined {
  const times = LATE_LOOKUPS_MS.map((after_ms) => new Date(ended_at.getTime() + after_ms))
  return times.find((time) => time > at)
}

/**
 * Adds the next late lookup to a payment that ended without its provider's word: by expiry, or by the operator. A
 * provider without callbacks would otherwise never say that it decided differently (P7). Changes nothing after the last
 * one. Pure.
 */
export function addLateLookup(payment: Payment, at: Date): Payment {
  if (!isFinal(payment.status)) throw new TypeError(`a payment in ${payment.status} has not ended`)
  const due_at = nextLookup(payment.finished_at ?? payment.updated_at, at)
  return due_at ? addEffect(payment, lookUpLateEffect.newEffect(payment, {}, { at, due_at })) : payment
}

/** Adds the next late lookup to a refund that the operator ended, like `addLateLookup`. Pure. */
export function addLateRefundLookup(payment: Payment, refund_id: string, at: Date): Payment {
  const { state, ended_at } = requireRefund(payment, refund_id)
  if (!ended_at) throw new TypeError(`a refund in ${state} has not ended`)
  const due_at = nextLookup(ended_at, at)
  if (!due_at) return payment
  return addEffect(payment, lookUpRefundLateEffect.newEffect(payment, { refund_id }, { at, due_at }))
}

/** What a late lookup of a payment found. */
export interface LateUpdate extends Pick<ProviderUpdate, 'attempt_number' | 'at'> {
  readonly result: ProviderUpdate['result'] | NotFound
}

/**
 * Records what a late lookup found as an anomaly if it contradicts the end of the payment, and adds the next one. Pure.
 */
export function applyLateLookup(payment: Payment, { result, attempt_number, at }: LateUpdate): Payment {
  const updated =
    result.kind === 'not_found'
      ? payment
      : applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
  return addLateLookup(updated, at)
}

/** What a late lookup of a refund found. */
export interface LateRefundUpdate extends Pick<RefundUpdate, 'refund_id' | 'at'> {
  readonly result: RefundUpdate['result'] | NotFound
}

/** Records what a late lookup of a refund found, like `applyLateLookup`. Pure. */
export function applyLateRefundLookup(
  payment: Payment,
  { result, refund_id, at }: LateRefundUpdate,
): Payment {
  const updated =
    result.kind === 'not_found' ? payment : applyRefundUpdate(payment, { refund_id, result, at, poll_at: at })
  return addLateRefundLookup(updated, refund_id, at)
}
