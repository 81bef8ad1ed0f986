import { now } from '#lib/base/time.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import { log } from '#lib/telemetry/log.ts'
import { applyExpiry } from '../domain/apply-expiry.ts'
import type { LookupResult } from '../domain/call-result.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { expirePaymentEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  accountBudget,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  LOOKUP_TIMEOUT_MS,
  lookUpAttempt,
  type ProviderCallDeps,
} from './provider-call.ts'

/** Last lookups in progress per account: a provider that hangs delays the end of its own payments only. */
const EXPIRIES_PER_ACCOUNT_MAX = 128
/** The time until the provider is asked again when it did not respond. */
const ASK_AGAIN_MS = 15_000

/** Asks the provider once more, and declines the payment unless it is paid or canceled there (P8). */
export function bindExpirePayment(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(expirePaymentEffect, {
    lease_ms: LOOKUP_TIMEOUT_MS + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: accountBudget(EXPIRIES_PER_ACCOUNT_MAX),
    run: (_effect, payment) => expire(deps, payment),
  })
}

async function expire(deps: ProviderCallDeps, payment: Payment): Promise<DocumentChange<Payment>> {
  const result = await askOnceMore(deps, payment)
  const at = now()
  const ask_again_at = new Date(at.getTime() + ASK_AGAIN_MS)
  return (current) => {
    const update = { attempt_number: payment.attempt.number, result, at, ask_again_at }
    return applyExpiry(current, { ...update, sends_callbacks: deps.sendsCallbacks(current) })
  }
}

/** A payment must end also when its account is no longer configured. */
async function askOnceMore(deps: ProviderCallDeps, payment: Payment): Promise<LookupResult> {
  try {
    return await lookUpAttempt(deps, deps.accountOf(payment), payment)
  } catch (error) {
    log.error(
      { error, payment_id: payment.payment_id },
      'the provider could not be asked about a payment that expired',
    )
    return { kind: 'unknown', reason: 'internal error' }
  }
}
