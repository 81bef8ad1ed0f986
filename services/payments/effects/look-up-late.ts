import { now } from '#lib/base/time.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { LookupResult, Unknown } from '../domain/call-result.ts'
import { applyLateLookup, applyLateRefundLookup } from '../domain/late-lookup.ts'
import { asPaid, type Payment, type StoredPayment } from '../domain/payment.ts'
import { lookUpLateEffect } from '../domain/payment-effects.ts'
import { requireRefund } from '../domain/refund.ts'
import { lookUpRefundLateEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  accountBudget,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  LOOKUP_TIMEOUT_MS,
  lookUpAttempt,
  type ProviderCallDeps,
} from './provider-call.ts'
import { lookUpRefund, refundBudget } from './refund-call.ts'

/** Late lookups in progress per account, as many again for refunds: a provider that hangs delays its own payments only. */
const LATE_LOOKUPS_PER_ACCOUNT_MAX = 32
/** A provider that does not respond is asked for some hours. Then the effect is stuck, so that the operator knows. */
const LIMITS = {
  lease_ms: LOOKUP_TIMEOUT_MS + LEASE_SLACK_MS,
  tries_max: CALL_TRIES_MAX,
  backoff: { first_ms: 60_000, max_ms: 3_600_000 },
}

/** Asks a provider without callbacks about a payment after its end. What it reports never changes the status (P7). */
export function bindLookUpLate(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(lookUpLateEffect, {
    ...LIMITS,
    budget: accountBudget(LATE_LOOKUPS_PER_ACCOUNT_MAX),
    run: (_effect, payment) => lookUpLate(deps, payment),
  })
}

/** Asks a provider without callbacks about a refund after the operator has ended it, like `bindLookUpLate`. */
export function bindLookUpRefundLate(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(lookUpRefundLateEffect, {
    ...LIMITS,
    budget: refundBudget(LATE_LOOKUPS_PER_ACCOUNT_MAX),
    run: ({ data }, payment) => lookUpRefundLate(deps, asPaid(payment), data.refund_id),
  })
}

async function lookUpLate(deps: ProviderCallDeps, payment: Payment): Promise<DocumentChange<Payment>> {
  const result = requireResult(await lookUpAttempt(deps, deps.accountOf(payment), payment))
  const update = { attempt_number: payment.attempt.number, result, at: now() }
  return (current) => applyLateLookup(current, update)
}

async function lookUpRefundLate(
  deps: ProviderCallDeps,
  payment: Payment,
  refund_id: string,
): Promise<DocumentChange<Payment>> {
  const refund = requireRefund(payment, refund_id)
  const result = requireResult(await lookUpRefund(deps, deps.accountOf(payment), payment, refund))
  const update = { refund_id, result, at: now() }
  return (current) => applyLateRefundLookup(current, update)
}

/** The result of a lookup that has one. Throws otherwise: the try has failed, and the provider is asked again. */
function requireResult(result: LookupResult): Exclude<LookupResult, Unknown> {
  if (result.kind === 'unknown') throw new Error(`the late lookup has no result: ${result.reason}`)
  return result
}
