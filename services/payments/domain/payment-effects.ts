import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Payment } from './payment.ts'

/** The effect that creates the payment at the provider, under the idempotency key of its attempt. */
export const createAtProviderEffect = defineEffect({
  kind: 'create_at_provider',
  lane: 'external',
  data: {},
  id: ({ payment_id, attempt }: Payment) => `${payment_id}:create:${attempt.number}`,
})

/** The effect that asks the provider for the status of the payment's attempt. */
export const pollProviderEffect = defineEffect({
  kind: 'poll_provider',
  lane: 'external',
  data: {},
  id: ({ payment_id, attempt }: Payment) => `${payment_id}:poll:${attempt.number}`,
})

/** The effect that gives a payment the status `declined` at its expiry (P8). */
export const expirePaymentEffect = defineEffect({
  kind: 'expire_payment',
  lane: 'independent',
  data: {},
  id: ({ payment_id }: Payment) => `${payment_id}:expire`,
})

/** The effect that credits a successful deposit to the merchant's available balance. */
export const creditLedgerEffect = defineEffect({
  kind: 'credit_ledger',
  lane: 'money',
  data: {},
  id: ({ payment_id, transition_number }: Payment) => `${payment_id}:${transition_number}:credit`,
})
