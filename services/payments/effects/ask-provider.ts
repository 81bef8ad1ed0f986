import { randomFraction } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import { createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { log } from '#lib/telemetry/log.ts'
import { pollIntervalMs } from '../connectors/connector.ts'
import { applyExpiry } from '../domain/apply-expiry.ts'
import { applyNotFoundUpdate } from '../domain/apply-provider-update.ts'
import type { LookupResult } from '../domain/call-result.ts'
import { applyLateLookup } from '../domain/end-without-report.ts'
import { type Operation, operationOf, operationsToFind, refOf } from '../domain/operation.ts'
import { requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import {
  expirePaymentEffect,
  findRestoredEffect,
  lookUpLateEffect,
  pollProviderEffect,
} from '../domain/payment-effects.ts'
import { recordOf } from '../domain/provider-record.ts'
import { applyRestoredAnswers } from '../domain/restored.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  applyResult,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  LOOKUP_TIMEOUT_MS,
  lookUp,
  mayRepeat,
  operationBudgets,
  type ProviderCallDeps,
} from './provider-call.ts'

// Each bound is per account: a provider that hangs delays its own payments only.
const POLLS_PER_ACCOUNT_MAX = 128
const EXPIRIES_PER_ACCOUNT_MAX = 128
const LATE_LOOKUPS_PER_ACCOUNT_MAX = 32
/** The restored operations of one route that are looked up at once. Each asks all accounts of its route. */
const RESTORED_PER_ROUTE_MAX = 64
/** The time until the provider is asked again about a payment that expires, when it did not respond. */
const ASK_AGAIN_MS = 15_000
/** The longest time, at a disabled account, which may be silent for days. */
const ASK_AGAIN_MAX_MS = 300_000

/**
 * Asks the provider for the status of an operation at growing intervals, until it has ended. Two processes may poll at once,
 * because results are applied in any order, like callbacks: so the lease is only the time until the next poll. A poll that
 * changes nothing writes nothing but that time.
 */
export function bindPollProvider(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(pollProviderEffect, {
    lease_ms(document, effect) {
      const refund_id = pollProviderEffect.dataOf(effect)?.refund_id
      const { payment, began_at } = operationOf(requireAdmitted(document), refund_id)
      return pollIntervalMs(deps.scheduleOf(payment), now().getTime() - began_at.getTime(), randomFraction())
    },
    repeats: true,
    // A failed poll, such as one of an account that is no longer configured, is repeated until the operator has mended it.
    tries_max: Number.POSITIVE_INFINITY,
    budget: operationBudgets(POLLS_PER_ACCOUNT_MAX),
    async run({ data }, payment) {
      const operation = operationOf(payment, data.refund_id)
      const { connector, schedule, fingerprint } = deps.accountOf(operation.payment)
      const ref = refOf(operation)
      const is_moved = await deps.isMoved(operation)
      const result = await lookUp(deps, connector, operation)
      if (result.kind !== 'not_found') return applyResult(ref, result, schedule.first_ms)
      // Something else than what it was sent to does not know it: that proves nothing (P4).
      if (is_moved) return (current) => current
      const may_repeat = mayRepeat(operation, connector, deps.create_timeout_ms)
      const at = now()
      const update = { ...ref, fingerprint, may_repeat, at }
      const sent_to = operation.record.account?.fingerprint
      // Another process may have sent it to something else meanwhile.
      return (current) =>
        recordOf(current, ref).account?.fingerprint === sent_to
          ? applyNotFoundUpdate(current, update)
          : current
    },
  })
}

/**
 * Asks a provider without callbacks about an operation after its end. What it reports never changes the status (P7). A
 * provider that does not respond is asked for some hours. Then the effect is stuck, so that the operator knows.
 */
export function bindLookUpLate(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(lookUpLateEffect, {
    lease_ms: LOOKUP_TIMEOUT_MS + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    backoff: { first_ms: 60_000, max_ms: 3_600_000 },
    budget: operationBudgets(LATE_LOOKUPS_PER_ACCOUNT_MAX),
    async run({ data }, payment) {
      const operation = operationOf(payment, data.refund_id)
      const result = await lookUp(deps, deps.accountOf(operation.payment).connector, operation)
      // The try has failed, and the provider is asked again.
      if (result.kind === 'unknown') throw new Error(`the late lookup has no result: ${result.reason}`)
      const at = now()
      return (current) => applyLateLookup(current, { ...refOf(operation), result, at })
    },
  })
}

/** Asks the provider once more, and declines the payment unless it is paid or canceled there (P8). */
export function bindExpirePayment(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(expirePaymentEffect, {
    lease_ms: LOOKUP_TIMEOUT_MS + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: operationBudgets(EXPIRIES_PER_ACCOUNT_MAX),
    async run(_effect, payment) {
      const result = await askIfConfigured(deps, operationOf(payment))
      const at = now()
      const is_disabled = deps.account_states.isDisabled(payment.attempt.account_id)
      const expired_ms = at.getTime() - (payment.expires_at?.getTime() ?? 0)
      const pause_ms = is_disabled ? Math.min(ASK_AGAIN_MS + expired_ms / 2, ASK_AGAIN_MAX_MS) : ASK_AGAIN_MS
      const ask_again_at = new Date(at.getTime() + pause_ms)
      const update = { attempt_number: payment.attempt.number, result, at, ask_again_at, is_disabled }
      return (current) => applyExpiry(current, { ...update, sends_callbacks: deps.sendsCallbacks(current) })
    },
  })
}

/**
 * Asks all accounts of an operation that was restored what they know of it, under the keys of their own attempts, at the
 * pauses of a poll until all have answered (P19). An account that stays silent is an anomaly.
 */
export function bindFindRestored(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(findRestoredEffect, {
    lease_ms(document, effect) {
      const { since } = findRestoredEffect.dataOf(effect) ?? { since: now() }
      const asked_ms = now().getTime() - since.getTime()
      const schedule = deps.scheduleOf(requireAdmitted(document))
      return LOOKUP_TIMEOUT_MS + pollIntervalMs(schedule, asked_ms, randomFraction())
    },
    repeats: true,
    tries_max: Number.POSITIVE_INFINITY,
    budget: createKeyedBudget<StoredPayment>(RESTORED_PER_ROUTE_MAX, ({ provider_accounts }) =>
      provider_accounts.join(' '),
    ),
    async run({ data: { refund_id, since: asked_since } }, payment) {
      // At which account it was paid, and would be refunded, is not known yet.
      if (refund_id !== undefined && payment.restored === 'booked') return (current) => current
      const operations = operationsToFind(payment, refund_id)
      const asked_at = now()
      const answers = await Promise.all(
        operations.map(async (operation) => ({
          ...refOf(operation),
          result: await askIfConfigured(deps, operation),
        })),
      )
      const update = { refund_id, answers, asked_since, asked_at, at: now() }
      return (current) => applyRestoredAnswers(current, update)
    },
  })
}

/**
 * The provider's word, or `unknown`: also when the account is no longer configured, or is another one now and does not know
 * the operation (P4).
 */
async function askIfConfigured(deps: ProviderCallDeps, operation: Operation): Promise<LookupResult> {
  const { payment } = operation
  try {
    const result = await lookUp(deps, deps.accountOf(payment).connector, operation)
    const is_proof = result.kind !== 'not_found' || !(await deps.isMoved(operation))
    return is_proof ? result : { kind: 'unknown', reason: 'the provider account is another one now' }
  } catch (error) {
    const { payment_id, attempt } = payment
    log.error(
      { error, payment_id, provider_account: attempt.account_id },
      'a provider account could not be asked about a payment',
    )
    return { kind: 'unknown', reason: 'internal error' }
  }
}
