import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { beginWithdrawal, type NewPaymentFields } from './domain/new-payment.ts'
import type { Payment, PaymentRoute, ReservingWithdrawal } from './domain/payment.ts'
import { createAtProviderEffect } from './domain/payment-effects.ts'
import type { ProviderCallDeps } from './effects/provider-call.ts'

/** All statuses of a payment. */
export const STATUSES: readonly PaymentStatus[] = [
  'created',
  'processing',
  'success',
  'error',
  'canceled',
  'declined',
  'refunded',
  'partially_refunded',
]

/** The time at which the payments of the tests are created. */
export const CREATED_AT = new Date('2026-11-21T10:00:00.000Z')

/** What identifies the provider accounts of the tests. */
export const FINGERPRINT = 'the same account'

/** What follows from the response to a create, with which a request that was not sent goes to the next account at once. */
export const CREATE_RESPONSE = {
  next_attempt_at: CREATED_AT,
  fingerprintOf: () => FINGERPRINT,
  takesPayments: () => true,
}

/** The operator has switched no account. */
export const ALL_ENABLED: ProviderCallDeps['account_states'] = {
  takesPayments: () => true,
  isDisabled: () => false,
  recentStateOf: async () => 'enabled',
}

const PAYMENT_ID = '019aa5b0-7c00-7000-8000-000000000001'

/** A deposit as the tests have it: with its expiry. */
type Deposit = Payment & { readonly expires_at: Date }
const FIELDS: NewPaymentFields = {
  merchant_id: '7001',
  environment: 'test',
  c_id: 'order-1',
  payment_id: PAYMENT_ID,
  h_id: PAYMENT_ID,
  direction: 'in',
  service_id: '501',
  method: 'upi',
  currency: 'INR',
  amount: 150_000n,
  provider_accounts: ['first', 'second'],
  attempt: { number: 1, account_id: 'first', created_at: CREATED_AT },
  attempts: [{ number: 1, account: { fingerprint: FINGERPRINT, at: CREATED_AT } }],
  created_at: CREATED_AT,
}

/**
 * A new deposit on a route of two provider accounts. `changes` replaces fields; unless it has `effects`, the deposit has
 * the create of its attempt.
 */
export function newDeposit(changes: Partial<Payment> = {}): Deposit {
  const payment: Deposit = {
    ...FIELDS,
    status: 'created',
    history: [{ status: 'created', at: CREATED_AT, amount: 150_000n }],
    updated_at: CREATED_AT,
    expires_at: new Date('2026-11-21T10:30:00.000Z'),
    effects: [],
    ...changes,
  }
  if (changes.effects) return payment
  const { created_at: at } = payment.attempt
  return { ...payment, effects: [createAtProviderEffect.newEffect(payment, {}, { at })] }
}

/** A withdrawal whose hold is not decided yet, on a route of two provider accounts. */
export function newReservation(changes: Partial<NewPaymentFields> = {}): ReservingWithdrawal {
  const fields = {
    ...FIELDS,
    direction: 'out',
    method: 'imps',
    beneficiary: { account_id: '123456789012', ifsc: 'SBIN0001234' },
    ...changes,
  } as const
  return beginWithdrawal(fields, 'the HMAC of no request')
}

/** The route of these withdrawals, without limits. */
export const WITHDRAWAL_ROUTE: PaymentRoute = {
  service_id: '501',
  merchant_id: '7001',
  environment: 'test',
  direction: 'out',
  method: 'imps',
  currency: 'INR',
  connector: 'sandbox',
  provider_accounts: ['first', 'second'],
  numeric_h_id: false,
  expires_in_seconds: 1_800,
  minimum_amount: 0n,
  withdrawal_limits: { timezone: 'Asia/Kolkata', maximum: 0n, daily: 0n, monthly: 0n, since_settlement: 0n },
  enabled: true,
}
