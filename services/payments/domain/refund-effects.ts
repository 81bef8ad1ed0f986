import { REFUND_STATUSES, type RefundStatus } from '#lib/contract/refund-status.ts'
import { defineEffect, isInstant, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Payment } from './payment.ts'
import type { Refund } from './refund.ts'

/** The effects of a refund name it. */
const REFUND = { refund_id: isText }

function isRefundStatus(value: unknown): value is RefundStatus {
  return REFUND_STATUSES.names.some((status) => status === value)
}

function isChangeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** The effect that asks the ledger to reserve the amount of a refund that the operator approves (S9). */
export const holdRefundEffect = defineEffect({
  kind: 'hold_refund',
  lane: 'money',
  data: { ...REFUND, hold_id: isText },
  id: (_payment: Payment, { hold_id }) => hold_id,
})

/** The effect that takes the held funds of a completed refund for good. */
export const captureRefundEffect = defineEffect({
  kind: 'capture_refund',
  lane: 'money',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:capture`,
})

/** The effect that gives the held funds of a failed refund back to the available balance. */
export const releaseRefundEffect = defineEffect({
  kind: 'release_refund',
  lane: 'money',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:release`,
})

/** The effect that creates the refund at the provider of its deposit. */
export const createRefundEffect = defineEffect({
  kind: 'create_refund',
  lane: 'external',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:create`,
})

/** The effect that asks the provider for the status of the refund, again and again until it has ended. */
export const pollRefundEffect = defineEffect({
  kind: 'poll_refund',
  lane: 'external',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:poll`,
})

/** The effect that sends a refund again which the provider does not know, under the same key (P4). */
export const repeatRefundEffect = defineEffect({
  kind: 'repeat_refund',
  lane: 'external',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:repeat`,
})

/** The effect that asks a provider without callbacks again after the operator has ended a refund (P7). */
export const lookUpRefundLateEffect = defineEffect({
  kind: 'look_up_refund_late',
  lane: 'external',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:look_up_late`,
})

/** The effect that reports a refund to the operator which is open 24 hours after its approval. */
export const reportOpenRefundEffect = defineEffect({
  kind: 'report_open_refund',
  lane: 'independent',
  data: REFUND,
  id: (_payment: Payment, { refund_id }) => `${refund_id}:report_open`,
})

/**
 * The effect that reports a change of a refund to the support service, which keeps what merchants see of it. `c_id` is
 * the merchant's reference in the first change, and empty in later ones; `reason` may be empty.
 */
export const reportRefundEffect = defineEffect({
  kind: 'report_refund',
  lane: 'independent',
  data: {
    ...REFUND,
    number: isChangeNumber,
    status: isRefundStatus,
    changed_at: isInstant,
    c_id: isText,
    reason: isText,
  },
  id: (_payment: Payment, { refund_id, number }) => `${refund_id}:report:${number}`,
})

/** The effect that takes a chargeback from the available funds (S10). */
export const debitChargebackEffect = defineEffect({
  kind: 'debit_chargeback',
  lane: 'money',
  data: { chargeback_id: isText },
  id: (_payment: Payment, { chargeback_id }) => `${chargeback_id}:debit`,
})

/** The effect that credits a chargeback back that the merchant has won (S10). */
export const returnChargebackEffect = defineEffect({
  kind: 'return_chargeback',
  lane: 'money',
  data: { chargeback_id: isText },
  id: (_payment: Payment, { chargeback_id }) => `${chargeback_id}:return`,
})

/** The effect that reports a chargeback to the support service. `deadline` is an ISO 8601 instant, or empty. */
export const reportChargebackEffect = defineEffect({
  kind: 'report_chargeback',
  lane: 'independent',
  data: { chargeback_id: isText, reason_code: isText, deadline: isText },
  id: (_payment: Payment, { chargeback_id }) => `${chargeback_id}:report`,
})

/**
 * The payment without the effects that wait for the provider's word about a refund, which has ended. A repetition that
 * is on its way stays: its response may contradict the end of the refund (P7).
 */
export function withoutProviderEffects(payment: Payment, { refund_id }: Refund): Payment {
  const effects = payment.effects.filter(
    (effect) => effect.data['refund_id'] !== refund_id || !isForOpenRefund(effect),
  )
  return { ...payment, effects }
}

function isForOpenRefund(effect: Effect): boolean {
  if (repeatRefundEffect.matches(effect)) return effect.tries === 0
  return [pollRefundEffect, reportOpenRefundEffect].some(({ matches }) => matches(effect))
}
