import { isFinal } from '#lib/contract/payment-status.ts'
import { addAnomaly, newOpenTooLongAnomaly } from './anomaly.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import { returnToOtherAttempt } from './attempts.ts'
import type { LookupResult } from './call-result.ts'
import { addLateLookup } from './end-without-report.ts'
import { isCurrent } from './operation.ts'
import { addEffect, type Payment } from './payment.ts'
import { expirePaymentEffect } from './payment-effects.ts'
import { namesOtherId, recordOf } from './provider-record.ts'
import { transition } from './transition.ts'

/** The result of the last question to the provider, and when it came. */
export interface ExpiryUpdate {
  readonly attempt_number: number
  readonly result: LookupResult
  readonly at: Date
  /** When to ask again if the provider did not respond. */
  readonly ask_again_at: Date
  /** Whether the provider reports by itself what it decides later. */
  readonly sends_callbacks: boolean
  /** Whether the operator has disabled the account: then silence decides nothing (P20). */
  readonly is_disabled?: boolean
}

/** For how long after its expiry a payment waits for a provider that does not respond. */
const RESPONSE_WAIT_MS = 60_000
/** When a payment that waits for the answer of a disabled account becomes an anomaly, counted from its expiry. */
const REPORT_AFTER_MS = 24 * 3_600_000

/**
 * Ends a payment at its expiry (P8). What the provider calls paid or canceled ends so; everything else is `declined`
 * with 6011. A provider that does not respond is asked again for a minute, and so is another one that has called it
 * paid or pending. A disabled account is asked until it answers, and after 24 hours the operator learns of it. A payment whose
 * provider has named two ids stays open for the operator (P4). One that has ended meanwhile keeps its status, and what contradicts it
 * is an anomaly (P7). Pure.
 */
export function applyExpiry(payment: Payment, update: ExpiryUpdate): Payment {
  const { result, attempt_number, at, ask_again_at, is_disabled } = update
  if (isFinal(payment.status)) {
    if (result.kind === 'not_found') return payment
    return applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
  }
  if (payment.restored === 'asking_accounts') return keepAsking(payment, update)
  // An attempt at another account may have begun since the question.
  const is_known = result.kind !== 'unknown' && isCurrent(payment, update)
  const expired_ms = at.getTime() - (payment.expires_at?.getTime() ?? 0)
  if (!is_known && (expired_ms < RESPONSE_WAIT_MS || is_disabled === true)) {
    const waiting = askAgain(payment, at, ask_again_at)
    return expired_ms < REPORT_AFTER_MS
      ? waiting
      : addAnomaly(waiting, newOpenTooLongAnomaly(waiting, { attempt_number: payment.attempt.number, at }))
  }
  const disputed = keepDisputed(payment, update)
  if (disputed) return disputed
  const elsewhere = result.kind === 'success' ? undefined : returnToOtherAttempt(payment)
  if (elsewhere) return askAgain(elsewhere, at, at)
  if (result.kind !== 'success' && result.kind !== 'canceled') return decline(payment, update)
  const updated = applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
  // A success with another amount is an anomaly and changes no status (P7).
  return isFinal(updated.status) ? updated : decline(updated, update)
}

/**
 * Keeps a payment open whose provider has named two ids: the other one may have been paid, so the operator decides, or a
 * verdict about the known one (P4). `undefined` when there is no such doubt, or when that verdict has come.
 */
function keepDisputed(payment: Payment, { attempt_number, result, at }: ExpiryUpdate): Payment | undefined {
  const record = recordOf(payment, { attempt_number: payment.attempt.number })
  if (!isCurrent(payment, { attempt_number })) return record.has_other_id ? payment : undefined
  if (result.kind !== 'unknown' && result.kind !== 'not_found' && namesOtherId(record, result))
    return applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
  const is_ended = result.kind === 'success' || result.kind === 'canceled' || result.kind === 'declined'
  return record.has_other_id && !is_ended ? payment : undefined
}

/** Of a restored payment that another account may have, only a success is known to be the whole truth (P19). */
function keepAsking(payment: Payment, { result, attempt_number, at, ask_again_at }: ExpiryUpdate): Payment {
  const updated =
    result.kind === 'success'
      ? applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
      : payment
  return isFinal(updated.status) ? updated : askAgain(updated, at, ask_again_at)
}

function askAgain(payment: Payment, at: Date, due_at: Date): Payment {
  return addEffect(payment, expirePaymentEffect.newEffect(payment, {}, { at, due_at }))
}

/** Only expiry gives the status `declined`: a refusal by the provider is `error`. */
function decline(payment: Payment, { at, sends_callbacks }: ExpiryUpdate): Payment {
  const declined = transition(payment, 'declined', { at, error_code: 6011 })
  return sends_callbacks ? declined : addLateLookup(declined, undefined, at)
}
