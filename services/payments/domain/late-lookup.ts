import { isFinal } from '#lib/contract/payment-status.ts'
import { addEffect } from './anomaly.ts'
import { applyProviderUpdate, type ProviderUpdate } from './apply-provider-update.ts'
import type { NotFound } from './call-result.ts'
import type { Payment } from './payment.ts'
import { lookUpLateEffect } from './payment-effects.ts'

const HOUR_MS = 3_600_000

/** How long after the end of a payment its provider is asked again: most late money comes soon, or with the next bank day. */
const LATE_LOOKUPS_MS = [HOUR_MS, 24 * HOUR_MS]

/**
 * Adds the next late lookup to a payment that ended without its provider's word: by expiry, or by the operator. A provider
 * without callbacks would otherwise never say that it decided differently (P7). Changes nothing after the last one. Pure.
 */
export function addLateLookup(payment: Payment, at: Date): Payment {
  if (!isFinal(payment.status)) throw new TypeError(`a payment in ${payment.status} has not ended`)
  const ended_ms = (payment.finished_at ?? payment.updated_at).getTime()
  const after_ms = LATE_LOOKUPS_MS.find((each_ms) => ended_ms + each_ms > at.getTime())
  if (after_ms === undefined) return payment
  const due_at = new Date(ended_ms + after_ms)
  return addEffect(payment, lookUpLateEffect.newEffect(payment, {}, { at, due_at }))
}

/** What a late lookup found. */
export interface LateUpdate extends Pick<ProviderUpdate, 'attempt_number' | 'at'> {
  readonly result: ProviderUpdate['result'] | NotFound
}

/** Records what a late lookup found as an anomaly if it contradicts the end of the payment, and adds the next one. Pure. */
export function applyLateLookup(payment: Payment, { result, attempt_number, at }: LateUpdate): Payment {
  const updated =
    result.kind === 'not_found'
      ? payment
      : applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
  return addLateLookup(updated, at)
}
