import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Money } from '#lib/contract/money.ts'
import { INSTRUCTION_FIELDS } from '#lib/contract/payment-methods.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import {
  type AnomalyKind,
  addAnomaly,
  NOT_FOUND_GRACE_MS,
  newAnomalyEffect,
  newNotFoundAnomaly,
  newOpenTooLongAnomaly,
} from './anomaly.ts'
import { type CallResult, type Instructions, namesOtherAmount, type ProviderSuccess } from './call-result.ts'
import { addEffect, type Payment } from './payment.ts'
import { createAtProviderEffect, pollProviderEffect, repeatCreateEffect } from './payment-effects.ts'
import { transition } from './transition.ts'
import { canTransition } from './transition-table.ts'

/** What a provider call or a callback reported about one attempt, and when. */
export interface ProviderUpdate {
  readonly attempt_number: number
  readonly result: CallResult
  readonly at: Date
  /** When to poll the provider for the first time if it has not decided. */
  readonly poll_at: Date
  /** When to send the create to the next account if it was not sent to this one; at once unless given. */
  readonly next_attempt_at?: Date
}

/**
 * Applies what a provider reported to the payment (P4, P6, P7). The response to a create, a callback and a poll all use
 * this function, in any order and any number of times. Pure. Returns the same payment when nothing changes.
 */
export function applyProviderUpdate(payment: Payment, update: ProviderUpdate): Payment {
  const { result, attempt_number, at } = update
  if (attempt_number !== payment.attempt.number) return applyToOtherAttempt(payment, update)
  if (isFinal(payment.status)) {
    const anomaly = contradiction(payment, result)
    return anomaly ? withAnomaly(payment, anomaly, update) : payment
  }
  if (namesOtherAmount(result, requestedAmount(payment)))
    return pollLater(withAnomaly(payment, 'amount_differs', update), update)
  switch (result.kind) {
    case 'success':
      return succeed(payment, result, at)
    case 'pending':
      return pollLater(mergeProviderDetails(payment, result), update)
    case 'unknown':
      return pollLater(payment, update)
    case 'not_sent':
      // Beyond `created` the provider may already have the payment: this request was not sent, but an earlier one may
      // have arrived.
      if (payment.status !== 'created') return pollLater(payment, update)
      return (
        keepForOtherAttempt(payment, update) ??
        moveToNextAccount(payment, update) ??
        fail(payment, 'error', 7002, at)
      )
    case 'declined':
      // A refusal by the provider is the public status `error`, with the code that its connector chose. The public
      // status `declined` is only for expiry (P8).
      return (
        keepForOtherAttempt(payment, update) ??
        fail(mergeProviderDetails(payment, result), 'error', result.code, at)
      )
    case 'canceled':
      return (
        keepForOtherAttempt(payment, update) ??
        fail(mergeProviderDetails(payment, result), 'canceled', result.code, at)
      )
  }
}

/**
 * Applies a report about another attempt than the present one. Until the account of that attempt has reported its
 * failure, it may still be paid there, so the payment remembers it.
 */
function applyToOtherAttempt(payment: Payment, update: ProviderUpdate): Payment {
  const returned = returnToAttempt(payment, update)
  if (returned !== undefined) return applyProviderUpdate(returned, update)
  const { result, attempt_number } = update
  switch (result.kind) {
    case 'success':
      return withAnomaly(noteSuccess(payment, attempt_number), 'success_of_earlier_attempt', update)
    case 'pending':
      return isFinal(payment.status) ? payment : notePending(payment, attempt_number)
    case 'declined':
    case 'canceled':
      // A failure of another amount proves nothing about this operation (P7).
      return namesOtherAmount(result, requestedAmount(payment))
        ? payment
        : withoutPending(payment, attempt_number)
    default:
      return payment
  }
}

/** What a lookup that did not find an attempt allows, and when it ended. */
export interface NotFoundUpdate {
  readonly attempt_number: number
  /** Whether the create of the attempt may be sent again under its key. */
  readonly may_repeat: boolean
  readonly at: Date
}

/**
 * Applies a lookup that did not find an attempt (P4): adds the effect that sends its create again or, where that is not
 * safe, after five minutes an anomaly for the operator. Polls continue in both cases, because the first request may
 * arrive late. Pure. Returns the same payment when nothing changes.
 */
export function applyNotFoundUpdate(
  payment: Payment,
  { attempt_number, may_repeat, at }: NotFoundUpdate,
): Payment {
  if (isFinal(payment.status) || attempt_number !== payment.attempt.number) return payment
  if (may_repeat) return addEffect(payment, repeatCreateEffect.newEffect(payment, {}, { at }))
  if (at.getTime() - sentBy(payment).getTime() < NOT_FOUND_GRACE_MS) return payment
  return addAnomaly(payment, newNotFoundAnomaly(payment, { attempt_number, at }))
}

/**
 * When the request of the attempt had been sent, if it was: its first result, also an unknown one, begins the
 * processing.
 */
function sentBy({ history, attempt }: Payment): Date {
  return history.find(({ status }) => status === 'processing')?.at ?? attempt.created_at
}

/** Why a result cannot be true together with the final status of the payment (P7). */
function contradiction(payment: Payment, result: CallResult): AnomalyKind | undefined {
  if (contradictsStatus(payment, result)) return 'contradicts_final_status'
  if (namesOtherAmount(result, requestedAmount(payment))) return 'amount_differs'
  const is_paid_twice = result.kind === 'success' && isEndedByReport(payment)
  return is_paid_twice ? 'contradicts_final_status' : undefined
}

function contradictsStatus({ status }: Payment, { kind }: CallResult): boolean {
  switch (kind) {
    case 'success':
      return status === 'error' || status === 'canceled' || status === 'declined'
    case 'declined':
      return status !== 'error' && status !== 'declined'
    case 'canceled':
      return status !== 'canceled' && status !== 'declined'
    default:
      return false
  }
}

/**
 * Whether the operator ended the payment for another reason than that the current attempt had no result: because of a
 * report about another attempt, with another amount, or that contradicts an earlier one. Then a success may be a second
 * payment.
 */
function isEndedByReport(payment: Payment): boolean {
  const { operator_decision: decision, attempt, updated_at: at } = payment
  if (decision === undefined) return false
  const own = [
    newNotFoundAnomaly(payment, { attempt_number: attempt.number, at }),
    newOpenTooLongAnomaly(payment, at),
  ]
  return !own.some(({ data }) => decision.startsWith(`${data['anomaly_id']}:`))
}

function requestedAmount({ amount: minor, currency }: Payment): Money {
  return { minor, currency }
}

function withAnomaly(payment: Payment, kind: AnomalyKind, update: ProviderUpdate): Payment {
  return addAnomaly(payment, newAnomalyEffect(payment, kind, update))
}

function succeed(payment: Payment, result: ProviderSuccess, at: Date): Payment {
  return transition(mergeProviderDetails(payment, result), 'success', {
    at,
    finished_at: result.completed_at,
  })
}

function fail(payment: Payment, status: 'error' | 'canceled', error_code: ErrorCode, at: Date): Payment {
  return transition(payment, status, { at, error_code })
}

/**
 * The provider has not decided: moves a `created` payment to `processing`, and adds a poll unless one waits already.
 */
function pollLater(payment: Payment, { at, poll_at }: Omit<ProviderUpdate, 'result'>): Payment {
  const processing = canTransition(payment, 'processing')
    ? transition(payment, 'processing', { at })
    : payment
  if (processing.effects.some(pollProviderEffect.matches)) return processing
  const poll = pollProviderEffect.newEffect(processing, {}, { at, due_at: poll_at })
  return { ...processing, effects: [...processing.effects, poll] }
}

/** Starts the next attempt, under its own key. Only a request that certainly was not sent may go elsewhere (P4). */
function moveToNextAccount(
  payment: Payment,
  { at, next_attempt_at: due_at = at }: ProviderUpdate,
): Payment | undefined {
  const account_id = payment.provider_accounts[payment.attempt.number]
  if (account_id === undefined) return undefined
  const moved = { ...payment, attempt: { number: payment.attempt.number + 1, account_id, created_at: at } }
  return {
    ...moved,
    effects: [...moved.effects, createAtProviderEffect.newEffect(moved, {}, { at, due_at })],
  }
}

/**
 * Goes back to an earlier attempt of which a report says that it arrived after all, while the create of the next one
 * has not been tried, so that the payment is at one account only (P4). `undefined` when that create may have left.
 */
function returnToAttempt(
  payment: Payment,
  { attempt_number, result, at }: ProviderUpdate,
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
 * Keeps a payment open whose present attempt has failed, when the account of another attempt has reported that one as
 * paid or pending: the payment returns to that attempt, and its next poll asks that account. When one account has
 * reported its attempt as paid and as failed, the operator decides. `undefined` when no account may have been paid.
 */
function keepForOtherAttempt(payment: Payment, update: ProviderUpdate): Payment | undefined {
  if (payment.earlier_successes?.at(-1) === payment.attempt.number)
    return pollLater(withAnomaly(payment, 'contradicts_final_status', update), update)
  const returned = returnToOtherAttempt(payment)
  return returned && pollLater(returned, update)
}

/**
 * Goes back to the last attempt that was reported as paid or, when there is none, as pending, and drops the effects
 * that wait for the present attempt. `undefined` when that is the present attempt, or when there is no such report.
 * Pure.
 */
export function returnToOtherAttempt(payment: Payment): Payment | undefined {
  const { earlier_successes, pending_elsewhere, attempt } = payment
  const number = earlier_successes?.at(-1) ?? pending_elsewhere?.at(-1) ?? attempt.number
  if (number === attempt.number) return undefined
  // A create that was not tried would go to the other account now. One that was tried ends, and sends nothing more. A
  // repetition sees that its attempt is not the present one.
  const isForPresentAttempt = (effect: Effect): boolean =>
    pollProviderEffect.matches(effect) || (createAtProviderEffect.matches(effect) && effect.tries === 0)
  const effects = payment.effects.filter((effect) => !isForPresentAttempt(effect))
  return atAttempt({ ...payment, effects }, number)
}

/** The payment at an attempt that it had left. `undefined` when its route had no such attempt. */
function atAttempt(payment: Payment, number: number): Payment | undefined {
  const { provider_accounts, attempt, highest_attempt = 0, created_at } = payment
  const account_id = provider_accounts[number - 1]
  if (account_id === undefined) return undefined
  return {
    ...withoutPending(payment, number),
    // No attempt is older than its payment, so no idempotency window is taken for longer than it is.
    attempt: { number, account_id, created_at },
    highest_attempt: Math.max(highest_attempt, attempt.number),
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

/** What a provider reports besides the status. */
interface ProviderDetails {
  readonly provider_id?: string
  readonly utr?: string
  readonly instructions?: Instructions
}

/**
 * Copies the provider id, UTR and payment instructions onto the payment. Existing values are kept, because the customer
 * may already have seen them.
 */
function mergeProviderDetails(
  payment: Payment,
  { provider_id, utr, instructions }: ProviderDetails,
): Payment {
  const added = {
    ...(payment.p_id === undefined && provider_id !== undefined ? { p_id: provider_id } : {}),
    ...(payment.utr === undefined && utr !== undefined ? { utr } : {}),
    ...(payment.instructions === undefined && instructions
      ? { instructions: instructionsOfMethod(instructions, payment.method) }
      : {}),
  }
  return Object.keys(added).length === 0 ? payment : { ...payment, ...added }
}

/** Only the instructions that the payment method allows: UPI never shows a provider's web page, for example (P13). */
function instructionsOfMethod(instructions: Instructions, method: string): Instructions {
  const allowed: readonly string[] = Object.hasOwn(INSTRUCTION_FIELDS, method)
    ? (INSTRUCTION_FIELDS[method] ?? [])
    : []
  return Object.fromEntries(Object.entries(instructions).filter(([field]) => allowed.includes(field)))
}
