import type { Effect } from '#lib/patterns/effects/effect.ts'
import { addAnomaly, newAnomalyEffect } from './anomaly.ts'
import { type CallResult, namesOtherAmount } from './call-result.ts'
import { operationOf } from './operation.ts'
import { addEffect, type Payment } from './payment.ts'
import { createAtProviderEffect, isAbout, pollProviderEffect } from './payment-effects.ts'
import { withRecord } from './provider-record.ts'

/** What an account reported about an attempt, and when. */
export interface AttemptReport {
  readonly attempt_number: number
  readonly result: CallResult
  readonly at: Date
}

/** What follows from the response to a create, and from no other report. */
export interface CreateResponse {
  /** When to send the create to the next account if it was not sent to this one. */
  readonly next_attempt_at: Date
  /** What identifies an account at its provider; empty for one that is not configured. */
  fingerprintOf(account_id: string): string
  /** Whether the operator lets new payments use an account (P20). */
  takesPayments(account_id: string): boolean
}

/**
 * Starts the next attempt, under its own key; `undefined` after the last account that takes payments. Only a request that certainly
 * was not sent may go elsewhere (P4).
 */
export function moveToNextAccount(
  payment: Payment,
  at: Date,
  { next_attempt_at: due_at, fingerprintOf, takesPayments }: CreateResponse,
): Payment | undefined {
  const { provider_accounts, attempt } = payment
  const index = provider_accounts.findIndex((id, at) => at >= attempt.number && takesPayments(id))
  const account_id = provider_accounts[index]
  if (account_id === undefined) return undefined
  // The number of an attempt is the place of its account in the route, also of one after an account that was left out.
  const number = index + 1
  const account = { fingerprint: fingerprintOf(account_id), at }
  const stamped = withRecord(payment, { attempt_number: number }, { account })
  const moved = { ...stamped, attempt: { number, account_id, created_at: at } }
  return addEffect(moved, createAtProviderEffect.newEffect(moved, {}, { at, due_at }))
}

/**
 * Goes back to an earlier attempt that arrived after all, while the create of the next one has not been tried, so that the
 * payment is at one account only (P4). Example: attempt 1 was `not_sent`, and its provider now reports it as pending.
 * `undefined` when the create of the next attempt may have left.
 */
export function returnToAttempt(
  payment: Payment,
  { attempt_number, result, at }: AttemptReport,
): Payment | undefined {
  const may_return = payment.status === 'created' && attempt_number < payment.attempt.number
  const has_arrived = may_return && (result.kind === 'success' || result.kind === 'pending')
  const { id: create_id } = createAtProviderEffect.newEffect(payment, {}, { at })
  const waiting = payment.effects.find(({ id }) => id === create_id)
  if (!has_arrived || waiting === undefined || waiting.tries > 0) return undefined
  const effects = payment.effects.filter((effect) => effect !== waiting)
  return atAttempt({ ...payment, effects }, attempt_number)
}

/**
 * Goes on to a later attempt that an account reports of a payment whose accounts are asked, which went there after its backup (P19).
 * `undefined` for any other report: a payment that was not restored has made no later attempt.
 */
export function goToFoundAttempt(
  payment: Payment,
  { attempt_number, result }: Pick<AttemptReport, 'attempt_number' | 'result'>,
): Payment | undefined {
  const is_found = result.kind !== 'unknown' && result.kind !== 'not_sent'
  const may_go = payment.restored === 'asking_accounts' && operationOf(payment).is_open
  if (!is_found || !may_go || attempt_number < payment.attempt.number) return undefined
  return atAttempt(withoutWaiting(payment), attempt_number)
}

/**
 * Notes a report about another attempt than the current one. Until the account of that attempt has reported its failure, it
 * may still be paid there, so the payment remembers it.
 */
export function noteOtherAttempt(payment: Payment, report: AttemptReport): Payment {
  const { result, attempt_number } = report
  switch (result.kind) {
    case 'success': {
      const noted = noteSuccess(payment, attempt_number)
      return addAnomaly(noted, newAnomalyEffect(noted, 'success_of_earlier_attempt', report))
    }
    case 'pending':
      return operationOf(payment).is_open ? notePending(payment, attempt_number) : payment
    case 'declined':
    case 'canceled':
      // A failure of another amount proves nothing about this operation (P7).
      return namesOtherAmount(result, operationOf(payment).amount)
        ? payment
        : withoutPending(payment, attempt_number)
    default:
      return payment
  }
}

/**
 * Keeps a payment open whose current attempt has failed, when the account of another attempt has reported that one as
 * paid or pending: the payment returns to that attempt, and its next poll asks that account. When one account has
 * reported its attempt as paid and as failed, the operator decides. `undefined` when no account may have been paid.
 */
export function keepForOtherAttempt(payment: Payment, report: AttemptReport): Payment | undefined {
  if (payment.earlier_successes?.at(-1) === payment.attempt.number)
    return addAnomaly(payment, newAnomalyEffect(payment, 'contradicts_final_status', report))
  return returnToOtherAttempt(payment)
}

/**
 * Goes back to the last attempt that was reported as paid or, when there is none, as pending, and drops the effects
 * that wait for the current attempt. `undefined` when that is the current attempt, or when there is no such report.
 * Pure.
 */
export function returnToOtherAttempt(payment: Payment): Payment | undefined {
  const { earlier_successes, pending_elsewhere, attempt } = payment
  const number = earlier_successes?.at(-1) ?? pending_elsewhere?.at(-1) ?? attempt.number
  if (number === attempt.number) return undefined
  return atAttempt(withoutWaiting(payment), number)
}

/** The payment without the effects that wait for its current attempt, before it goes to another one. */
function withoutWaiting(payment: Payment): Payment {
  // A create that was not tried would go to the other account now. One that was tried ends, and sends nothing more. A
  // repetition sees that its attempt is not the current one.
  const isForCurrentAttempt = (effect: Effect): boolean =>
    isAbout(effect, undefined) &&
    (pollProviderEffect.matches(effect) || (createAtProviderEffect.matches(effect) && effect.tries === 0))
  return { ...payment, effects: payment.effects.filter((effect) => !isForCurrentAttempt(effect)) }
}

/**
 * Goes to the attempt that was paid, of a payment that only the ledger knows as paid: refunds go to that account. The other
 * accounts are asked on, as one of them may have paid too (P19). `undefined` for any other payment or attempt.
 */
export function goToPaidAttempt(payment: Payment, attempt_number: number): Payment | undefined {
  const paid = payment.restored === 'booked' ? atAttempt(payment, attempt_number) : undefined
  return paid && { ...paid, restored: 'asking_accounts' }
}

/** The payment at another attempt that it has made. `undefined` when its route had no such attempt. */
function atAttempt(payment: Payment, number: number): Payment | undefined {
  const { provider_accounts, attempt, highest_attempt = 0, created_at } = payment
  const account_id = provider_accounts[number - 1]
  if (account_id === undefined) return undefined
  return {
    ...withoutPending(payment, number),
    // No attempt is older than its payment, so no idempotency window is taken for longer than it is.
    attempt: { number, account_id, created_at },
    highest_attempt: Math.max(highest_attempt, attempt.number, number),
  }
}

function notePending(payment: Payment, attempt_number: number): Payment {
  const { pending_elsewhere: noted = [] } = payment
  if (noted.includes(attempt_number)) return payment
  return { ...payment, pending_elsewhere: [...noted, attempt_number] }
}

function withoutPending(payment: Payment, attempt_number: number): Payment {
  const { pending_elsewhere: noted, ...rest } = payment
  if (!noted?.includes(attempt_number)) return payment
  const others = noted.filter((number) => number !== attempt_number)
  return others.length === 0 ? rest : { ...rest, pending_elsewhere: others }
}

function noteSuccess(payment: Payment, attempt_number: number): Payment {
  const { earlier_successes: noted = [] } = payment
  if (noted.includes(attempt_number)) return payment
  return { ...withoutPending(payment, attempt_number), earlier_successes: [...noted, attempt_number] }
}
