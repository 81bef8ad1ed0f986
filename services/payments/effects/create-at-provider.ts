import { now } from '#lib/base/time.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { CallResult } from '../domain/call-result.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { createAtProviderEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  accountBudget,
  applyResult,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  type ProviderCallDeps,
  sendCreate,
} from './provider-call.ts'

/** Creates in progress per account: as many as one merchant can have at a gateway (E10). Further ones wait for room. */
const CREATES_PER_ACCOUNT_MAX = 2_500
/** The part of `create_timeout_ms` that a try needs. With less left, the next account is tried after the merchant's response. */
const ATTEMPT_MIN_PART = 0.1
/** How much later that try is due. Not at once, because the merchant's request waits for all effects that are due. */
const AFTER_RESPONSE_MS = 5_000

/**
 * Sends the create once per attempt. After a try that did not end, the poll asks the provider (P4). Only
 * `repeatCreateEffect` may send the create again, within the connector's `idempotency_window_ms`.
 */
export function bindCreateAtProvider(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(createAtProviderEffect, {
    lease_ms: deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: accountBudget(CREATES_PER_ACCOUNT_MAX),
    run: ({ tries }, payment) => createOnce(deps, tries, payment),
  })
}

async function createOnce(
  deps: ProviderCallDeps,
  tries: number,
  payment: Payment,
): Promise<DocumentChange<Payment>> {
  if (isFinal(payment.status)) return (current) => current
  // On a second try it is unknown whether the first one sent the request. This effect does not send it again; the
  // poll asks the provider, and may send it again within the idempotency window (P4).
  if (tries > 1)
    return applyResult(payment, { kind: 'unknown', reason: 'an earlier try may have sent the request' }, 0)
  const connected = deps.accountOf(payment)
  const timeout_ms = timeLeft(deps, payment) ?? deps.create_timeout_ms
  const sent = await sendCreate(deps, connected, payment, { timeout_ms, earlier_result_unknown: false })
  // A request that this process did not send because it stops says nothing about the account. As `unknown`, the payment
  // stays at this account, and a poll of another process goes on.
  const result: CallResult =
    sent.kind === 'not_sent' && deps.stopping.aborted ? { ...sent, kind: 'unknown' } : sent
  const next_attempt_ms = timeLeft(deps, payment) === undefined ? AFTER_RESPONSE_MS : 0
  return applyResult(payment, result, connected.schedule.first_ms, next_attempt_ms)
}

/**
 * What is left of the time of the create, which all accounts share, because the merchant waits for the last of them (P5).
 * `undefined` when an account needs more: then the merchant does not wait for it.
 */
function timeLeft({ create_timeout_ms }: ProviderCallDeps, { created_at }: Payment): number | undefined {
  const left_ms = create_timeout_ms - Math.max(0, now().getTime() - created_at.getTime())
  return left_ms < create_timeout_ms * ATTEMPT_MIN_PART ? undefined : left_ms
}
