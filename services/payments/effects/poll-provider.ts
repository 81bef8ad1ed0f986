import { isFinal } from '#lib/contract/payment-status.ts'
import { createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { CallResult } from '../domain/call-result.ts'
import { attemptKey, type Payment } from '../domain/payment.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'
import {
  applyResult,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  type ProviderCallDeps,
  sendCreate,
} from './provider-call.ts'

const LOOKUP_TIMEOUT_MS = 10_000
/** The polls of one account that wait for a provider that hangs. The polls of other accounts continue. */
const POLLS_PER_ACCOUNT_MAX = 128

/** Looks the attempt up, and sends its create again when the provider does not know it and a repetition is safe (P4). */
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
  const { account, connector, schedule } = connected
  const lookup = await connector.lookUp(
    account,
    attemptKey(payment),
    'deposit',
    LOOKUP_TIMEOUT_MS,
    deps.stopping,
  )
  if (lookup.kind !== 'not_found') return applyResult(payment, lookup, schedule.every_ms)
  // "Not found" does not prove that the first request will not arrive later. The create may be sent again only where
  // the provider treats a repeated key as one payment.
  const sent: CallResult = connector.create_is_idempotent
    ? await sendCreate(deps, connected, payment, {
        timeout_ms: deps.create_timeout_ms,
        earlier_result_unknown: true,
      })
    : { kind: 'unknown', reason: 'the provider does not know the payment' }
  // The first request may still arrive, so `not_sent` for the second one proves nothing.
  const result: CallResult = sent.kind === 'not_sent' ? { ...sent, kind: 'unknown' } : sent
  return applyResult(payment, result, schedule.every_ms)
}
