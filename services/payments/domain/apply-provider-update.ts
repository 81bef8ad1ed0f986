import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { INSTRUCTION_FIELDS } from '#lib/contract/payment-methods.ts'
import { type Effect, effect } from '#lib/patterns/effects/effect.ts'
import type { Instructions, ProviderOutcome, ProviderSuccess } from '../connectors/connector.ts'
import { type AnomalyKind, anomalyEffect } from '../effects/record-anomaly.ts'
import type { Payment } from './payment.ts'
import { enter } from './transition.ts'
import { isSettled, mayGo } from './transition-table.ts'

/** What a provider said of an attempt, and when we learned it. */
export interface Verdict {
  /** The number of the attempt that it is about. */
  readonly attempt: number
  readonly outcome: ProviderOutcome
  readonly at: Date
  /** When the provider is asked again while it has not decided. */
  readonly poll_at: Date
}

/**
 * Applies a provider's verdict: the one place that says what an answer, a callback or a poll does to a payment (P4,
 * P6, P7). Pure, and the same for all three, in whatever order and however often they come. A verdict that changes
 * nothing gives the very same payment back.
 */
export function decide(payment: Payment, verdict: Verdict): Payment {
  const { outcome, attempt } = verdict
  if (attempt !== payment.attempt.number) {
    return outcome.kind === 'success' ? strange(payment, 'success_of_earlier_attempt', verdict) : payment
  }
  if (isSettled(payment.state)) {
    const anomaly = contradiction(payment, outcome)
    return anomaly ? strange(payment, anomaly, verdict) : payment
  }
  switch (outcome.kind) {
    case 'success':
      return succeed(payment, outcome, verdict)
    case 'pending':
      return wait(learn(payment, outcome), verdict)
    case 'unknown':
      return wait(payment, verdict)
    case 'not_sent':
      // The provider has spoken of it already: whatever this request met, an earlier one arrived.
      if (payment.state !== 'created') return wait(payment, verdict)
      return nextAccount(payment, verdict.at) ?? fail(payment, 'error', 7002, verdict.at)
    case 'declined':
      return fail(learn(payment, outcome), 'error', outcome.code, verdict.at)
    case 'canceled':
      return fail(learn(payment, outcome), 'canceled', outcome.code, verdict.at)
  }
}

/** The deposit's time is over: declined with 6011 (P8). One that has ended stays as it is. */
export function expire(payment: Payment, at: Date): Payment {
  return isSettled(payment.state) ? payment : enter(payment, 'declined', { at, error_code: 6011 })
}

/** The effect that asks the provider to create the payment under the key of its attempt. */
export function createEffect({ payment_id, attempt }: Pick<Payment, 'payment_id' | 'attempt'>): Effect {
  const id = `${payment_id}:create:${attempt.number}`
  return effect({ id, kind: 'provider_create', lane: 'timer' }, attempt.created_at)
}

/** Why a verdict cannot be true beside the state in which the payment has ended (P7). */
function contradiction(payment: Payment, outcome: ProviderOutcome): AnomalyKind | undefined {
  const { state } = payment
  const unpaid = state === 'error' || state === 'canceled' || state === 'declined'
  switch (outcome.kind) {
    case 'success':
      if (unpaid) return 'contradicts_final_state'
      return isAsAsked(payment, outcome) ? undefined : 'amount_differs'
    case 'declined':
      return state === 'error' || state === 'declined' ? undefined : 'contradicts_final_state'
    case 'canceled':
      return state === 'canceled' || state === 'declined' ? undefined : 'contradicts_final_state'
    default:
      return undefined
  }
}

function isAsAsked({ amount, currency }: Payment, paid: ProviderSuccess): boolean {
  return paid.amount.minor === amount && paid.amount.currency === currency
}

function strange(payment: Payment, kind: AnomalyKind, verdict: Verdict): Payment {
  const anomaly = anomalyEffect(payment, kind, verdict)
  if (payment.effects.some(({ id }) => id === anomaly.id)) return payment
  return { ...payment, effects: [...payment.effects, anomaly] }
}

function succeed(payment: Payment, outcome: ProviderSuccess, verdict: Verdict): Payment {
  if (!isAsAsked(payment, outcome)) return wait(strange(payment, 'amount_differs', verdict), verdict)
  return enter(learn(payment, outcome), 'success', { at: verdict.at, finished_at: outcome.completed_at })
}

function fail(payment: Payment, state: 'error' | 'canceled', error_code: ErrorCode, at: Date): Payment {
  return enter(payment, state, { at, error_code })
}

/** Goes on in `processing` and asks the provider again later; a poll that waits already is not doubled. */
function wait(payment: Payment, { at, poll_at }: Verdict): Payment {
  const processing = mayGo(payment.state, 'processing') ? enter(payment, 'processing', { at }) : payment
  if (processing.effects.some(({ kind }) => kind === 'provider_poll')) return processing
  const id = `${payment.payment_id}:poll:${payment.attempt.number}`
  const poll = effect({ id, kind: 'provider_poll', lane: 'timer', due_at: poll_at }, at)
  return { ...processing, effects: [...processing.effects, poll] }
}

/** Only what certainly never left this system may go to another account, under another key (P4). */
function nextAccount(payment: Payment, at: Date): Payment | undefined {
  const account_id = payment.provider_accounts[payment.attempt.number]
  if (account_id === undefined) return undefined
  const moved = { ...payment, attempt: { number: payment.attempt.number + 1, account_id, created_at: at } }
  return { ...moved, effects: [...moved.effects, createEffect(moved)] }
}

/** Takes in what the provider tells beside its verdict; instructions that the customer may have seen stay. */
function learn(
  payment: Payment,
  told: { provider_id?: string; utr?: string; instructions?: Instructions },
): Payment {
  const learned = {
    ...(payment.p_id === undefined && told.provider_id !== undefined ? { p_id: told.provider_id } : {}),
    ...(payment.utr === undefined && told.utr !== undefined ? { utr: told.utr } : {}),
    ...(payment.instructions === undefined && told.instructions
      ? { instructions: ofMethod(told.instructions, payment.method) }
      : {}),
  }
  return Object.keys(learned).length === 0 ? payment : { ...payment, ...learned }
}

/** What a method gives its customer and nothing else: UPI never shows a provider's web page, say (P13). */
function ofMethod(told: Instructions, method: string): Instructions {
  const fields: readonly string[] = Object.hasOwn(INSTRUCTION_FIELDS, method)
    ? (INSTRUCTION_FIELDS[method] ?? [])
    : []
  return Object.fromEntries(Object.entries(told).filter(([field]) => fields.includes(field)))
}
