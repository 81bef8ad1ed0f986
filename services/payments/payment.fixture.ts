import { createEffect } from './domain/apply-provider-update.ts'
import type { Payment, PaymentState } from './domain/payment.ts'

/** All states that a payment can be in. */
export const STATES: readonly PaymentState[] = [
  'created',
  'processing',
  'success',
  'error',
  'canceled',
  'declined',
  'refunded',
  'partially_refunded',
]

/** The instant at which the payments of the tests are created. */
export const CREATED_AT = new Date('2026-11-21T10:00:00.000Z')

const PAYMENT_ID = '019aa5b0-7c00-7000-8000-000000000001'

/** A deposit that was just created on a route of two provider accounts; `changes` replaces fields. */
export function newDeposit(changes: Partial<Payment> = {}): Payment {
  const attempt = { number: 1, account_id: 'first', created_at: CREATED_AT }
  return {
    merchant_id: '7001',
    environment: 'test',
    c_id: 'order-1',
    payment_id: PAYMENT_ID,
    h_id: PAYMENT_ID,
    ids: [PAYMENT_ID],
    direction: 'in',
    service_id: '501',
    method: 'upi',
    currency: 'INR',
    amount: 150_000n,
    provider_accounts: ['first', 'second'],
    attempt,
    state: 'created',
    history: [{ state: 'created', at: CREATED_AT, amount: 150_000n }],
    transition: 1,
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
    expires_at: new Date('2026-11-21T10:30:00.000Z'),
    effects: [createEffect({ payment_id: PAYMENT_ID, attempt })],
    ...changes,
  }
}
