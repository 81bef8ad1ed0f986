import { REFUND_STATUSES, type RefundStatus } from '#lib/contract/public-support.ts'
import {
  defineEffect,
  type EffectDefinition,
  isAbsentOrText,
  isInstant,
  isOneOf,
  isText,
} from '#lib/patterns/effects/define-effect.ts'
import type { Effect, Lane } from '#lib/patterns/effects/effect.ts'
import { OPERATION_RULES, operationKey, operationOf, type Posting } from './operation.ts'
import type { Payment } from './payment.ts'

/** The data of an effect of one operation: the refund that it is about; without one, the payment itself. */
export interface OperationData {
  readonly refund_id?: string | undefined
}

/** Defines an effect of an operation. Its id is the name of the operation at the provider and its own `name`. */
function operationEffect(kind: string, name: string, lane: Lane): EffectDefinition<Payment, OperationData> {
  return defineEffect({
    kind,
    lane,
    data: { refund_id: isAbsentOrText },
    id: (payment: Payment, { refund_id }) => `${operationKey(payment, refund_id)}:${name}`,
  })
}

/** The effect that creates an operation at its provider, under the idempotency key of the attempt or the refund. */
export const createAtProviderEffect = operationEffect('create_at_provider', 'create', 'external')

/** The effect that asks the provider for the status of an operation, again and again until it has ended. */
export const pollProviderEffect = operationEffect('poll_provider', 'poll', 'external')

/** The effect that repeats, under the same key, a create that the provider does not know (P4). */
export const repeatCreateEffect = operationEffect('repeat_create', 'repeat', 'external')

/**
 * The effect that asks a provider without callbacks again after the end of an operation that the provider did not decide
 * (P7).
 */
export const lookUpLateEffect = operationEffect('look_up_late', 'look_up_late', 'external')

/** The data of the questions about a restored operation: since when its accounts are asked. Each repetition moves the due time. */
interface RestoredData extends OperationData {
  readonly since: Date
}

/** The effect that asks every account of a restored operation what it knows of it, until all have answered (P19). */
export const findRestoredEffect: EffectDefinition<Payment, RestoredData> = defineEffect({
  kind: 'find_restored',
  lane: 'external',
  data: { refund_id: isAbsentOrText, since: isInstant },
  id: ({ payment_id }: Payment, { refund_id }) => `${refund_id ?? payment_id}:find_restored`,
})

/** The effect that reports to the operator that a withdrawal or a refund is still open after 24 hours (P8). */
export const reportOpenEffect = operationEffect('report_open', 'report_open', 'independent')

/** The effect that asks the provider once more at a deposit's expiry, and then declines what is not paid (P8). */
export const expirePaymentEffect = defineEffect({
  kind: 'expire_payment',
  lane: 'external',
  data: {},
  id: ({ payment_id }: Payment) => `${payment_id}:expire`,
})

/** The data of a hold: its id in the ledger, and the refund that it is for; without one, the withdrawal itself. */
interface HoldData extends OperationData {
  readonly hold_id: string
}

/** The effect that asks the ledger to reserve the amount of a withdrawal (P14) or of a refund that is approved (S9). */
export const holdFundsEffect: EffectDefinition<unknown, HoldData> = defineEffect({
  kind: 'hold_funds',
  lane: 'money',
  data: { hold_id: isText, refund_id: isAbsentOrText },
  id: (_document, { hold_id }) => hold_id,
})

/** What the ledger posts, for an operation or for a chargeback. */
export interface EntryData extends OperationData {
  readonly posting: Posting
  readonly chargeback_id?: string | undefined
}

/** The effect that posts what follows in the ledger from the end of an operation, or from a chargeback (S10). */
export const postEntryEffect: EffectDefinition<Payment, EntryData> = defineEffect({
  kind: 'post_entry',
  lane: 'money',
  data: {
    posting: isOneOf<Posting>(['credit', 'capture', 'release', 'debit', 'return']),
    refund_id: isAbsentOrText,
    chargeback_id: isAbsentOrText,
  },
  // What is posted, and for what: both happen once, so the same money has the same id on every path (P18).
  id: ({ payment_id }: Payment, { posting, refund_id, chargeback_id }) =>
    `${refund_id ?? chargeback_id ?? payment_id}:${posting}`,
})

/** The entry that the end of an operation demands from the ledger, such as the credit of a successful deposit. */
export function newEndEntry(
  payment: Payment,
  refund_id: string | undefined,
  is_success: boolean,
  at: Date,
): Effect | undefined {
  const { entry_on_success, entry_on_failure } = OPERATION_RULES[operationOf(payment, refund_id).kind]
  const posting = is_success ? entry_on_success : entry_on_failure
  return posting && postEntryEffect.newEffect(payment, { posting, refund_id }, { at })
}

/** The effect that stores the record of the ledger's refusal of a withdrawal (P3). */
export const recordRefusalEffect = defineEffect({
  kind: 'record_refusal',
  lane: 'independent',
  data: {},
  id: ({ payment_id }: Pick<Payment, 'payment_id'>) => `${payment_id}:record_refusal`,
})

/** The effect that deletes a refused withdrawal when its time is over, and its record is stored (P3). */
export const discardRefusedEffect = defineEffect({
  kind: 'discard_refused',
  lane: 'independent',
  data: {},
  id: ({ payment_id }: Pick<Payment, 'payment_id'>) => `${payment_id}:discard`,
})

function isChangeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/**
 * The effect that reports a change of a refund to the support service, which keeps what merchants see of it. `c_id` is
 * the merchant's reference in the first change, and empty in later ones; `reason` may be empty.
 */
export const reportRefundEffect = defineEffect({
  kind: 'report_refund',
  lane: 'independent',
  data: {
    refund_id: isText,
    number: isChangeNumber,
    status: isOneOf<RefundStatus>(REFUND_STATUSES.names),
    changed_at: isInstant,
    c_id: isText,
    reason: isText,
  },
  id: (_payment: Payment, { refund_id, number }) => `${refund_id}:report:${number}`,
})

/** The effect that reports a chargeback to the support service. `deadline` is an ISO 8601 instant, or empty. */
export const reportChargebackEffect = defineEffect({
  kind: 'report_chargeback',
  lane: 'independent',
  data: { chargeback_id: isText, reason_code: isText, deadline: isText },
  id: (_payment: Payment, { chargeback_id }) => `${chargeback_id}:report`,
})

/** Whether an effect is about this operation: the refund with this id, or the payment itself without one. */
export function isAbout({ data }: Effect, refund_id: string | undefined): boolean {
  return data['refund_id'] === refund_id
}

/** Whether a payment waits for a poll of this operation. */
export function isPolled({ effects }: Payment, refund_id: string | undefined): boolean {
  return effects.some((effect) => pollProviderEffect.matches(effect) && isAbout(effect, refund_id))
}

/**
 * The effects that stay when an operation ends: those that wait for the provider's word about it have no purpose any more.
 * A repetition and an expiry stay after their first try, because their call may be in progress, and its response may
 * contradict the end (P7). Effects of other operations of the payment stay too.
 */
export function effectsAfterEnd(effects: readonly Effect[], refund_id: string | undefined): Effect[] {
  return effects.filter((effect) => !isAbout(effect, refund_id) || !isForOpenOperation(effect))
}

function isForOpenOperation(effect: Effect): boolean {
  if ([repeatCreateEffect, expirePaymentEffect].some(({ matches }) => matches(effect)))
    return effect.tries === 0
  return [pollProviderEffect, reportOpenEffect].some(({ matches }) => matches(effect))
}

/** When an operation that has no result yet is reported to the operator, counted from its create (P8). */
const REPORT_OPEN_AFTER_MS = 24 * 3_600_000

/** What follows when an operation that begins at `at` stays without a result: it expires, or the operator learns of it (P8). */
export function newResultLimit(payment: Payment, refund_id: string | undefined, at: Date): Effect {
  const { without_result } = OPERATION_RULES[operationOf(payment, refund_id).kind]
  const report_at = new Date(at.getTime() + REPORT_OPEN_AFTER_MS)
  return without_result === 'expires'
    ? expirePaymentEffect.newEffect(payment, {}, { at, due_at: payment.expires_at ?? at })
    : reportOpenEffect.newEffect(payment, { refund_id }, { at, due_at: report_at })
}
