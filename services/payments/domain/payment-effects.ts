import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import { holdIdOf, type Payment } from './payment.ts'

/** The effect that creates the payment at the provider, under the idempotency key of its attempt. */
export const createAtProviderEffect = defineEffect({
  kind: 'create_at_provider',
  lane: 'external',
  data: {},
  id: ({ payment_id, attempt }: Payment) => `${payment_id}:create:${attempt.number}`,
})

/**
 * The effect that asks the provider for the status of the payment's attempt, again and again until the payment is
 * final.
 */
export const pollProviderEffect = defineEffect({
  kind: 'poll_provider',
  lane: 'external',
  data: {},
  id: ({ payment_id, attempt }: Payment) => `${payment_id}:poll:${attempt.number}`,
})

/** The effect that repeats, under the same key, the create of an attempt that the provider does not know (P4). */
export const repeatCreateEffect = defineEffect({
  kind: 'repeat_create',
  lane: 'external',
  data: {},
  id: ({ payment_id, attempt }: Payment) => `${payment_id}:repeat:${attempt.number}`,
})

/** The effect that asks the provider once more at a payment's expiry, and then declines what is not paid (P8). */
export const expirePaymentEffect = defineEffect({
  kind: 'expire_payment',
  lane: 'external',
  data: {},
  id: ({ payment_id }: Payment) => `${payment_id}:expire`,
})

/** The effect that asks a provider without callbacks again after the end of a payment that it did not decide (P7). */
export const lookUpLateEffect = defineEffect({
  kind: 'look_up_late',
  lane: 'external',
  data: {},
  id: ({ payment_id }: Payment) => `${payment_id}:look_up_late`,
})

/** The effect that reports to the operator that a withdrawal is still open after 24 hours (P8). */
export const reportOpenEffect = defineEffect({
  kind: 'report_open',
  lane: 'independent',
  data: {},
  id: ({ payment_id }: Payment) => `${payment_id}:report_open`,
})

/** The effect that credits a successful deposit to the merchant's available balance. */
export const creditLedgerEffect = defineEffect({
  kind: 'credit_ledger',
  lane: 'money',
  data: {},
  id: ({ payment_id, transition_number }: Payment) => `${payment_id}:${transition_number}:credit`,
})

/** The effect that asks the ledger to reserve the amount of a withdrawal within the limits of its route (P14). */
export const holdFundsEffect = defineEffect({
  kind: 'hold_funds',
  lane: 'money',
  data: {},
  id: (withdrawal: Pick<Payment, 'payment_id'>) => holdIdOf(withdrawal),
})

/** The effect that takes the held funds of a successful withdrawal for good. */
export const captureHoldEffect = defineEffect({
  kind: 'capture_hold',
  lane: 'money',
  data: {},
  id: ({ payment_id, transition_number }: Payment) => `${payment_id}:${transition_number}:capture`,
})

/** The effect that gives the held funds of a failed withdrawal back to the available balance. */
export const releaseHoldEffect = defineEffect({
  kind: 'release_hold',
  lane: 'money',
  data: {},
  id: ({ payment_id, transition_number }: Payment) => `${payment_id}:${transition_number}:release`,
})

/** The effect that deletes a refused withdrawal, after a record of the ledger's refusal is stored (P3). */
export const discardRefusedEffect = defineEffect({
  kind: 'discard_refused',
  lane: 'independent',
  data: {},
  id: ({ payment_id }: Pick<Payment, 'payment_id'>) => `${payment_id}:discard`,
})
