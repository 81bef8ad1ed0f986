import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { AttemptRecord, Delivery } from './delivery.ts'

/** The effect of one attempt to deliver. The number counts the attempts of the delivery from 1. */
export const attemptDeliveryEffect = defineEffect({
  kind: 'attempt_delivery',
  lane: 'external',
  data: {},
  id: ({ delivery_id, number }: { readonly delivery_id: string; readonly number: number }) =>
    `${delivery_id}:attempt:${number}`,
})

/** The wait while the merchants service or the store is unavailable. */
const UNAVAILABLE_WAIT_MS = 10_000

const RETRY_DELAY_MIN_MS = 1_000
const RETRY_DELAY_MAX_MS = 24 * 3_600_000

/** Makes the effect of the attempt with this number, counted from 1. It is due at once unless `due_at` is given. */
export function newAttemptEffect(delivery_id: string, number: number, at: Date, due_at = at): Effect {
  return attemptDeliveryEffect.newEffect({ delivery_id, number }, {}, { at, due_at })
}

/** Adds the same attempt again, for when this system was unavailable. The receiver loses no attempt. */
export function postponeAttempt(delivery: Delivery, at: Date): Delivery {
  const due_at = new Date(at.getTime() + UNAVAILABLE_WAIT_MS)
  const again = newAttemptEffect(delivery.delivery_id, delivery.attempts.length + 1, at, due_at)
  return { ...delivery, effects: [...delivery.effects, again] }
}

/**
 * Adds an attempt to its delivery, which becomes delivered, is scheduled for a retry, or becomes dead (N2, N6). `random`
 * in [0, 1) picks the delay of the retry.
 */
export function recordAttempt(delivery: Delivery, record: AttemptRecord, at: Date, random: number): Delivery {
  const attempts = [...delivery.attempts, record]
  if (record.failure === undefined) return { ...delivery, attempts, status: 'delivered' }
  if (attempts.length > delivery.max_retries) return { ...delivery, attempts, status: 'dead' }
  const due_at = new Date(at.getTime() + retryDelayMs(attempts.length, delivery.retry_delay_seconds, random))
  const next = newAttemptEffect(delivery.delivery_id, attempts.length + 1, at, due_at)
  return { ...delivery, attempts, effects: [...delivery.effects, next] }
}

/**
 * The wait before the next attempt, after `attempts` so far (spec: Delivery and retry, 3; N2): uniform between 0 and
 * a bound that doubles with each attempt, but at least one second and at most a day.
 */
export function retryDelayMs(attempts: number, retry_delay_seconds: number, random: number): number {
  const bound_ms = 2 ** (attempts - 1) * retry_delay_seconds * 1_000
  return Math.min(Math.max(random * bound_ms, RETRY_DELAY_MIN_MS), RETRY_DELAY_MAX_MS)
}
