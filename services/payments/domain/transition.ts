import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'
import { type Effect, effect } from '#lib/patterns/effects/effect.ts'
import { eventEffect } from '../effects/publish-event.ts'
import type { Payment, PaymentState } from './payment.ts'
import { EVENT_OF, isSettled, mayGo } from './transition-table.ts'

/** What is said of a transition beside the state it leads to. */
export interface Entering {
  readonly at: Date
  readonly error_code?: ErrorCode
  /** The provider's own time of a success (spec: `finished`). */
  readonly finished_at?: Date
}

/** What waits for the provider is pointless once the payment has ended. */
const PROVIDER_TIMERS = new Set(['provider_poll', 'expire'])

/**
 * The payment in its next state, with all that must follow: first the ledger, then the event (P9). The pure heart of
 * every decision. Throws when the table forbids the transition: a caller checks with `mayGo` first.
 */
export function enter(
  payment: Payment,
  state: PaymentState,
  { at, error_code, finished_at }: Entering,
): Payment {
  if (!mayGo(payment.state, state)) throw new Error(`a payment cannot go from ${payment.state} to ${state}`)
  const settled = isSettled(state)
  const entered: Payment = {
    ...payment,
    state,
    transition: payment.transition + 1,
    updated_at: at,
    history: [...payment.history, { state, at, amount: payment.amount, ...reasonOf(error_code) }],
    ...(error_code === undefined ? {} : { error_code }),
    ...(settled ? { finished_at: finished_at ?? at } : {}),
  }
  const kept = settled ? payment.effects.filter(({ kind }) => !PROVIDER_TIMERS.has(kind)) : payment.effects
  return { ...entered, effects: [...kept, ...following(entered, at)] }
}

/** Why it ended so, in the words of the error table: the merchant finds the same under the code. */
function reasonOf(error_code: ErrorCode | undefined): { readonly reason?: string } {
  return error_code === undefined ? {} : { reason: ERROR_TABLE[error_code].message }
}

/** The ledger entry of a paid deposit, and the event, which waits for it. */
function following(entered: Payment, at: Date): Effect[] {
  const effects: Effect[] = []
  if (entered.state === 'success' && entered.direction === 'in') {
    effects.push(
      effect(
        { id: `${entered.payment_id}:${entered.transition}:credit`, kind: 'ledger_credit', lane: 'money' },
        at,
      ),
    )
  }
  const event = EVENT_OF[entered.state]
  if (event) effects.push(eventEffect(entered, event, at, effects.at(-1)?.id))
  return effects
}
