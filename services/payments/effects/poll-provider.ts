import { isFinal } from '#lib/contract/payment-status.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { now } from '#lib/platform/time.ts'
import { pollIntervalMs } from '../connectors/poll-schedule.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  accountBudget,
  applyNotFound,
  applyResult,
  lookUpAttempt,
  type ProviderCallDeps,
} from './provider-call.ts'
import { mayRepeatCreate } from './repeat-create.ts'

/** The polls of one account that wait for a provider that hangs. The polls of other accounts continue. */
const POLLS_PER_ACCOUNT_MAX = 128

/**
 * Asks the provider for the status of the attempt in growing intervals, until the payment is final. A poll is a question
 * and needs no lease: its result is applied in any order, like a callback. One that changes nothing writes nothing but
 * the time of the next one.
 */
export function bindPollProvider(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(pollProviderEffect, {
    lease_ms(payment) {
      const age_ms = now().getTime() - payment.attempt.created_at.getTime()
      return pollIntervalMs(deps.scheduleOf(payment), age_ms, randomFraction())
    },
    repeats: true,
    // A failed poll, such as one of an account that is no longer configured, is repeated until the operator has mended it.
    tries_max: Number.POSITIVE_INFINITY,
    budget: accountBudget(POLLS_PER_ACCOUNT_MAX),
    run: (_effect, payment) => poll(deps, payment),
  })
}

async function poll(deps: ProviderCallDeps, payment: Payment): Promise<DocumentChange<Payment>> {
  if (isFinal(payment.status)) return (current) => current
  const connected = deps.accountOf(payment)
  const lookup = await lookUpAttempt(deps, connected, payment)
  if (lookup.kind !== 'not_found') return applyResult(payment, lookup, connected.schedule.first_ms)
  return applyNotFound(payment, mayRepeatCreate(payment, connected.connector, deps.create_timeout_ms))
}
