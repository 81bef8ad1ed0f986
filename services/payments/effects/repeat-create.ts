import { now } from '#lib/base/time.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { Connector } from '../connectors/connector.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { repeatCreateEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  accountBudget,
  applyResult,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  type ProviderCallDeps,
  sendCreate,
} from './provider-call.ts'

/** Repeated creates in progress per account: a provider that hangs delays its own payments only. */
const REPEATS_PER_ACCOUNT_MAX = 128

/** Covers the differences between the clocks of processes and provider, and pauses of a process. */
const WINDOW_MARGIN_MS = 60_000

/**
 * Sends the create of an attempt again that the provider does not know, under the same key to the same account, while
 * that is safe (P4).
 */
export function bindRepeatCreate(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(repeatCreateEffect, {
    lease_ms: deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: accountBudget(REPEATS_PER_ACCOUNT_MAX),
    run: ({ id }, payment) => repeatCreate(deps, id, payment),
  })
}

async function repeatCreate(
  deps: ProviderCallDeps,
  effect_id: string,
  payment: Payment,
): Promise<DocumentChange<Payment>> {
  // One that a crash left behind may be of a payment that has ended, or has gone to another attempt, since.
  const { id } = repeatCreateEffect.newEffect(payment, {}, { at: now() })
  if (isFinal(payment.status) || id !== effect_id) return (current) => current
  const connected = deps.accountOf(payment)
  const { create_timeout_ms: timeout_ms } = deps
  // The effect may have waited since the poll, for room or for a process.
  if (!mayRepeatCreate(payment, connected.connector, timeout_ms)) return (current) => current
  const result = await sendCreate(deps, connected, payment, { timeout_ms, earlier_result_unknown: true })
  return applyResult(payment, result, connected.schedule.first_ms)
}

/**
 * Whether a repetition of the attempt's create arrives within the connector's idempotency window, and no other account has
 * reported the payment as paid or pending.
 */
export function mayRepeatCreate(
  { attempt, earlier_successes = [], pending_elsewhere = [] }: Payment,
  connector: Connector,
  timeout_ms: number,
): boolean {
  const is_elsewhere = earlier_successes.length + pending_elsewhere.length > 0
  return !is_elsewhere && isWithinWindow(attempt.created_at, connector, timeout_ms)
}

/**
 * Whether a repetition arrives within the connector's idempotency window even if it takes all of its time. The window
 * counts from `began_at`, which is not later than the first request.
 */
export function isWithinWindow(
  began_at: Date,
  { idempotency_window_ms }: Connector,
  timeout_ms: number,
): boolean {
  const age_ms = now().getTime() - began_at.getTime()
  return age_ms + timeout_ms + WINDOW_MARGIN_MS < idempotency_window_ms
}
