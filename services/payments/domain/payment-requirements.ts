import { isFinal } from '#lib/contract/payment-status.ts'
import type { Requirement } from '#lib/role/operations.ts'
import { type Operation, operationOf } from './operation.ts'
import { isAdmitted, type Payment, type StoredPayment } from './payment.ts'
import { newEndEntry, postEntryEffect } from './payment-effects.ts'
import { EVENT_OF, eventKeyOf, eventKeyOfRefund } from './payment-event.ts'

/**
 * What the ledger and the notifier must have, because the effect that stores it there is gone from the payment: the entries
 * that follow from it, its refunds and its chargebacks, and its events. Pure.
 */
export function requirementsOfPayment(payment: StoredPayment): Requirement[] {
  if (!isAdmitted(payment)) return []
  const { effects, merchant_id, environment, payment_id, updated_at: at } = payment
  const of = (kind: string, id: string) => ({
    merchant_id,
    environment,
    id,
    subject: `the ${kind} ${id} of the payment ${payment_id}`,
  })
  const entries = entriesOf(payment).filter(({ effect_id }) => !effects.some(({ id }) => id === effect_id))
  return [
    ...entries.map(({ entry_id }) => ({ role: 'balances' as const, ...of('ledger entry', entry_id), at })),
    ...eventsOf(payment).map(({ id, ...event }) => ({
      role: 'notifier' as const,
      ...of('event', id),
      ...event,
    })),
  ]
}

/** A ledger entry and the effect that posts it. */
interface EffectEntry {
  readonly effect_id: string
  readonly entry_id: string
}

function entriesOf(payment: Payment): EffectEntry[] {
  const { refunds = [], chargebacks = [], updated_at: at } = payment
  const ended = payment.history.find(({ status }) => isFinal(status))
  const chargeback_entry = (posting: 'debit' | 'return', chargeback_id: string): EffectEntry =>
    posted(postEntryEffect.newEffect(payment, { posting, chargeback_id }, { at }).id)
  return [
    ...entriesOfOperation(operationOf(payment), ended && ended.status === 'success'),
    ...refunds.flatMap(({ refund_id, state }) => {
      const has_ended = state === 'completed' || state === 'failed'
      return entriesOfOperation(
        operationOf(payment, refund_id),
        has_ended ? state === 'completed' : undefined,
      )
    }),
    ...chargebacks.flatMap(({ chargeback_id, is_won }) => [
      chargeback_entry('debit', chargeback_id),
      ...(is_won ? [chargeback_entry('return', chargeback_id)] : []),
    ]),
  ]
}

/** The hold of an operation, and the entry of its end; `is_success` is `undefined` while it has not ended with money. */
function entriesOfOperation(
  { payment, refund_id, hold_id }: Operation,
  is_success: boolean | undefined,
): EffectEntry[] {
  const hold = hold_id === undefined ? [] : [posted(hold_id)]
  const end =
    is_success === undefined ? undefined : newEndEntry(payment, refund_id, is_success, payment.updated_at)
  if (end === undefined) return hold
  // The ledger gives capture and release of a hold the same id, so that only one of them happens.
  return [...hold, { effect_id: end.id, entry_id: hold_id === undefined ? end.id : `${hold_id}:resolve` }]
}

function posted(effect_id: string): EffectEntry {
  return { effect_id, entry_id: effect_id }
}

/**
 * The events that are published. One of a payment without a callback address of its own is stored only if an endpoint of the
 * merchant gets it (N1).
 */
function eventsOf(payment: Payment) {
  const { webhook, effects, history, refunds = [] } = payment
  const completed = refunds.filter(({ state }) => state === 'completed').values()
  return history.flatMap(({ at, status }) => {
    const event = EVENT_OF[status]
    // One refund is active at a time, so they were completed in the order of their requests.
    const refund = event === 'payment.refunded' ? completed.next().value : undefined
    const id = refund ? eventKeyOfRefund(refund.refund_id) : eventKeyOf(payment, status)
    if (!event || effects.some((effect) => effect.data['event_key'] === id)) return []
    return { id, at, ...(!webhook && { event }) }
  })
}
