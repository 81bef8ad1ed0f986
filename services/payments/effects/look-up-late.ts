import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import { now } from '#lib/platform/time.ts'
import { applyLateLookup } from '../domain/late-lookup.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { lookUpLateEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  accountBudget,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  LOOKUP_TIMEOUT_MS,
  lookUpAttempt,
  type ProviderCallDeps,
} from './provider-call.ts'

/** The late lookups of one account that wait for a provider that hangs. */
const LATE_LOOKUPS_PER_ACCOUNT_MAX = 32
/** A provider that does not respond is asked for some hours. Then the effect is stuck, so that the operator knows. */
const BACKOFF = { first_ms: 60_000, max_ms: 3_600_000 }

/** Asks a provider without callbacks about a payment after its end. What it reports never changes the status (P7). */
export function bindLookUpLate(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(lookUpLateEffect, {
    lease_ms: LOOKUP_TIMEOUT_MS + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    backoff: BACKOFF,
    budget: accountBudget(LATE_LOOKUPS_PER_ACCOUNT_MAX),
    run: (_effect, payment) => lookUpLate(deps, payment),
  })
}

async function lookUpLate(deps: ProviderCallDeps, payment: Payment): Promise<DocumentChange<Payment>> {
  const result = await lookUpAttempt(deps, deps.accountOf(payment), payment)
  if (result.kind === 'unknown') throw new Error(`the late lookup has no result: ${result.reason}`)
  const update = { attempt_number: payment.attempt.number, result, at: now() }
  return (current) => applyLateLookup(current, update)
}
