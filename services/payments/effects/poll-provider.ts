import { isFinal } from '#lib/contract/payment-status.ts'
import { createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import { now } from '#lib/platform/time.ts'
import type { Connector } from '../connectors/connector.ts'
import type { CallResult } from '../domain/call-result.ts'
import { attemptKey, type Payment } from '../domain/payment.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'
import {
  applyNotFound,
  applyResult,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  type ProviderCallDeps,
  sendCreate,
} from './provider-call.ts'

const LOOKUP_TIMEOUT_MS = 10_000
/** The polls of one account that wait for a provider that hangs. The polls of other accounts continue. */
const POLLS_PER_ACCOUNT_MAX = 128

/** Covers the differences between the clocks of processes and provider, and pauses of a process. */
const WINDOW_MARGIN_MS = 60_000

/** Looks the attempt up, and sends its create again when the provider does not know it and that is safe (P4). */
export function bindPollProvider(deps: ProviderCallDeps): BoundEffect<Payment> {
  return pollProviderEffect.bind<Payment>({
    lease_ms: LOOKUP_TIMEOUT_MS + deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: createKeyedBudget(POLLS_PER_ACCOUNT_MAX, ({ attempt }) => attempt.account_id),
    run: (_effect, payment) => poll(deps, payment),
  })
}

async function poll(deps: ProviderCallDeps, payment: Payment): Promise<DocumentChange<Payment>> {
  if (isFinal(payment.status)) return (current) => current
  const connected = deps.accountOf(payment)
  const { connector, schedule } = connected
  const lookup = await connector.lookUp(
    { kind: 'deposit', idempotency_key: attemptKey(payment) },
    LOOKUP_TIMEOUT_MS,
    deps.stopping,
  )
  if (lookup.kind !== 'not_found') return applyResult(payment, lookup, schedule.every_ms)
  // "Not found" does not prove that the first request will not arrive later. The create may be sent again only while the
  // provider treats a repeated key as one payment.
  const { create_timeout_ms: timeout_ms } = deps
  if (!mayRepeatCreate(payment, connector, timeout_ms)) return applyNotFound(payment, schedule.every_ms)
  const sent = await sendCreate(deps, connected, payment, { timeout_ms, earlier_result_unknown: true })
  // The first request may still arrive, so `not_sent` for the second one proves nothing.
  const result: CallResult = sent.kind === 'not_sent' ? { ...sent, kind: 'unknown' } : sent
  return applyResult(payment, result, schedule.every_ms)
}

/**
 * Whether a repetition arrives within the idempotency window even if it takes all of its time. The window counts from the
 * beginning of the attempt, which is not later than its first request.
 */
function mayRepeatCreate({ attempt }: Payment, connector: Connector, timeout_ms: number): boolean {
  const { idempotency_window_ms } = connector
  const age_ms = now().getTime() - attempt.created_at.getTime()
  return age_ms + timeout_ms + WINDOW_MARGIN_MS < idempotency_window_ms
}
