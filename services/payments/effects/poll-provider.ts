import { randomFraction } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
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

/** Polls in progress per account: a provider that hangs delays its own payments only. */
const POLLS_PER_ACCOUNT_MAX = 128

/**
 * Asks the provider for the status of the attempt at growing intervals, until the payment is final. Two processes may
 * poll at once, because results are applied in any order, like callbacks: so the lease is only the time until the next
 * poll. A poll that changes nothing writes nothing but that time.
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
  const connected = deps.accountOf(payment)
  const lookup = await lookUpAttempt(deps, connected, payment)
  if (lookup.kind !== 'not_found') return applyResult(payment, lookup, connected.schedule.first_ms)
  return applyNotFound(payment, mayRepeatCreate(payment, connected.connector, deps.create_timeout_ms))
}
