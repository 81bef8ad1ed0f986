import { isFinal } from '#lib/contract/payment-status.ts'
import type { RefundStatus } from '#lib/contract/public-support.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { ClaimedPosting, Requirement } from '#lib/role/requirement.ts'
import { type Operation, operationOf } from './operation.ts'
import { holdIdOf, isAdmitted, type Payment, type PaymentChargeback, type StoredPayment } from './payment.ts'
import {
  newEndEntry,
  postEntryEffect,
  reportChargebackEffect,
  reportRefundEffect,
} from './payment-effects.ts'
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
  const entries = ledgerEntriesOf(payment).filter(
    ({ effect_id }) => !effects.some(({ id }) => id === effect_id),
  )
  return [
    ...entries.map(({ entry_id }) => ({ role: 'balances' as const, ...of('ledger entry', entry_id), at })),
    ...returnsOf(payment).map(({ id, claim, at }) => ({
      role: 'support' as const,
      ...of(claim.kind, id),
      at,
      claim,
    })),
    ...eventsOf(payment).map(({ id, ...event }) => ({
      role: 'notifier' as const,
      ...of('event', id),
      ...event,
    })),
  ]
}

/** The refunds and chargebacks that support has recorded: their reports are gone from the payment. */
function returnsOf({ refunds = [], chargebacks = [], effects, currency }: Payment) {
  const isReported = (id: string): boolean => !effects.some((effect) => reportedIdOf(effect) === id)
  const recorded_refunds = refunds
    .filter(({ refund_id }) => isReported(refund_id))
    .map(({ refund_id, amount, state, created_at: at }) => {
      const status: RefundStatus = state === 'approving' ? 'pending' : state
      return { id: refund_id, at, claim: { kind: 'refund', refund_id, amount, currency, status } as const }
    })
  const recorded_chargebacks = chargebacks
    .filter(({ chargeback_id }) => isReported(chargeback_id))
    .map(({ chargeback_id, amount, is_won, created_at: at }) => {
      const claim = { kind: 'chargeback', chargeback_id, amount, currency, is_won } as const
      return { id: chargeback_id, at, claim }
    })
  return [...recorded_refunds, ...recorded_chargebacks]
}

function reportedIdOf(effect: Effect): string | undefined {
  return reportRefundEffect.dataOf(effect)?.refund_id ?? reportChargebackEffect.dataOf(effect)?.chargeback_id
}

/** A ledger entry that a payment has or will have, and the effect that posts it. */
interface LedgerEntry {
  readonly effect_id: string
  readonly entry_id: string
  readonly posting: ClaimedPosting
  readonly amount: bigint
}

/** The ledger entries that follow from a payment, its refunds and its chargebacks, posted or not. Pure. */
export function ledgerEntriesOf(payment: StoredPayment): LedgerEntry[] {
  return isAdmitted(payment) ? entriesOf(payment) : [postedHold(holdIdOf(payment), payment.amount)]
}

function entriesOf(payment: Payment): LedgerEntry[] {
  const { refunds = [], chargebacks = [], updated_at: at } = payment
  const ended = payment.history.find(({ status }) => isFinal(status))
  const chargeback_entry = (
    posting: 'debit' | 'return',
    { chargeback_id, amount }: PaymentChargeback,
  ): LedgerEntry => {
    const { id } = postEntryEffect.newEffect(payment, { posting, chargeback_id }, { at })
    return { effect_id: id, entry_id: id, posting, amount }
  }
  return [
    ...entriesOfOperation(operationOf(payment), ended && ended.status === 'success'),
    ...refunds.flatMap(({ refund_id, state }) => {
      const has_ended = state === 'completed' || state === 'failed'
      return entriesOfOperation(
        operationOf(payment, refund_id),
        has_ended ? state === 'completed' : undefined,
      )
    }),
    ...chargebacks.flatMap((chargeback) => [
      chargeback_entry('debit', chargeback),
      ...(chargeback.is_won ? [chargeback_entry('return', chargeback)] : []),
    ]),
  ]
}

/** The hold of an operation, and the entry of its end; `is_success` is `undefined` while it has not ended with money. */
function entriesOfOperation(
  { payment, refund_id, hold_id, amount: { minor } }: Operation,
  is_success: boolean | undefined,
): LedgerEntry[] {
  const hold = hold_id === undefined ? [] : [postedHold(hold_id, minor)]
  const end =
    is_success === undefined ? undefined : newEndEntry(payment, refund_id, is_success, payment.updated_at)
  const posting = end && postEntryEffect.dataOf(end)?.posting
  if (end === undefined || posting === undefined) return hold
  // The ledger gives capture and release of a hold the same id, so that only one of them happens.
  const entry_id = hold_id === undefined ? end.id : `${hold_id}:resolve`
  return [...hold, { effect_id: end.id, entry_id, posting, amount: minor }]
}

function postedHold(hold_id: string, amount: bigint): LedgerEntry {
  return { effect_id: hold_id, entry_id: hold_id, posting: 'hold', amount }
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
