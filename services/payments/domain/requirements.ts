import type { EventName } from '#lib/contract/events.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import { holdIdOf, isAdmitted, type Payment, type StoredPayment } from './payment.ts'
import { holdIdOfRefund } from './refund.ts'
import { EVENT_OF } from './transition.ts'

/** What the ledger or the notifier must have, because the effect that stores it there is gone from the payment. */
export interface PaymentRequirement {
  readonly role: 'balances' | 'notifier'
  readonly id: string
  readonly at: Date
  /** The event, if only endpoints of the merchant get it: without such an endpoint it is not stored. */
  readonly event?: EventName
}

/**
 * The ledger entries that follow from a payment, its refunds and its chargebacks, and its events. Those whose effect
 * still waits in the document are not required yet. Pure.
 */
export function requirementsOfPayment(payment: StoredPayment): PaymentRequirement[] {
  if (!isAdmitted(payment)) return []
  const { effects, updated_at: at } = payment
  const entries = entriesOf(payment).filter(({ effect_id }) => !effects.some(({ id }) => id === effect_id))
  return [
    ...entries.map(({ entry_id: id }): PaymentRequirement => ({ role: 'balances', id, at })),
    ...eventsOf(payment),
  ]
}

/** A ledger entry and the effect that posts it. */
interface EffectEntry {
  readonly effect_id: string
  readonly entry_id: string
}

function entriesOf(payment: Payment): EffectEntry[] {
  const { payment_id, direction, refunds = [], chargebacks = [] } = payment
  const hold_id = holdIdOf(payment)
  const entries = direction === 'out' ? [posted(hold_id)] : []
  const end = numberedHistory(payment).find(({ status }) => isFinal(status))
  if (end !== undefined) {
    const { number, status } = end
    if (direction === 'in' && status === 'success') entries.push(posted(`${payment_id}:${number}:credit`))
    if (direction === 'out')
      entries.push(
        resolved(`${payment_id}:${number}:${status === 'success' ? 'capture' : 'release'}`, hold_id),
      )
  }
  for (const refund of refunds) {
    const { refund_id, holds, state } = refund
    const refund_hold_id = holdIdOfRefund(refund)
    if (holds > 0) entries.push(posted(refund_hold_id))
    if (state === 'completed') entries.push(resolved(`${refund_id}:capture`, refund_hold_id))
    if (state === 'failed') entries.push(resolved(`${refund_id}:release`, refund_hold_id))
  }
  for (const { chargeback_id, is_won } of chargebacks) {
    entries.push(posted(`${chargeback_id}:debit`))
    if (is_won) entries.push(posted(`${chargeback_id}:return`))
  }
  return entries
}

function posted(effect_id: string): EffectEntry {
  return { effect_id, entry_id: effect_id }
}

/** The ledger gives capture and release of a hold the same id, so that only one of them happens. */
function resolved(effect_id: string, hold_id: string): EffectEntry {
  return { effect_id, entry_id: `${hold_id}:resolve` }
}

/**
 * An event of a payment without a callback address of its own is stored only if an endpoint of the merchant gets it
 * (N1).
 */
function eventsOf(payment: Payment): PaymentRequirement[] {
  const { payment_id, webhook, effects } = payment
  return numberedHistory(payment)
    .flatMap(({ number, at, status }): PaymentRequirement[] => {
      const event = EVENT_OF[status]
      if (event === undefined) return []
      const requirement = { role: 'notifier', id: `${payment_id}:${number}`, at } as const
      return [webhook === undefined ? { ...requirement, event } : requirement]
    })
    .filter(({ id }) => !effects.some((effect) => effect.data['event_key'] === id))
}

/** The history with the number of the transition that made each entry. */
function numberedHistory({ history, transition_number }: Payment) {
  const first = transition_number - history.length + 1
  return history.map((entry, at) => ({ ...entry, number: first + at }))
}
