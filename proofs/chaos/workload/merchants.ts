import { PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { RouteSpec, WithdrawalRouteSpec } from '../../simulation/workload/merchants.ts'

/** What the sandbox does with a deposit, by the last digits of its amount (docs/merchants/testing.md). */
const OUTCOMES = [0, 0, 0, 0, 901, 902, 903, 904, 906, 907, 908, 909, 910, 911, 913, 915]

/** The digits of a deposit that stays pending until it expires. */
const STAYS_PENDING = 905

/** The currency of the ledger commands, in which no deposit may be (see the treasurer of the simulation). */
const RESERVED_CURRENCY = 'AUD'

/** Longer than any run, so that no outage makes a deposit expire that its customer has paid. */
const LONG_EXPIRY_SECONDS = 7_200

/** A process that is killed during a call leaves an unknown attempt, which stays at its account until it expires (P4). */
const EXPIRY_WITH_DOWN_ACCOUNT_SECONDS = 45

/** Draws the routes of a merchant: all methods of deposits, some whose first account is down, one on which they expire. */
export function drawRoutes(choices: Choices): readonly RouteSpec[] {
  const pairs = Object.entries(PAYMENT_METHODS.in).flatMap(([method, currencies]) =>
    currencies.filter((currency) => currency !== RESERVED_CURRENCY).map((currency) => ({ method, currency })),
  )
  const normal = pairs.map((pair) => ({
    ...pair,
    provider_accounts: ['sandbox'],
    minimum_amount: choices.pick([0, 100]),
    digits: OUTCOMES,
    has_numeric_ids: choices.chance(0.3),
    expires_in_seconds: LONG_EXPIRY_SECONDS,
  }))
  const upi = { method: 'upi', currency: 'INR', minimum_amount: 0, has_numeric_ids: false }
  const with_down_account = [['sandbox-down', 'sandbox'], ['sandbox-down']].map((provider_accounts) => ({
    ...upi,
    provider_accounts,
    digits: OUTCOMES,
    expires_in_seconds: EXPIRY_WITH_DOWN_ACCOUNT_SECONDS,
  }))
  const expiring = { provider_accounts: ['sandbox'], digits: [STAYS_PENDING], expires_in_seconds: 8 }
  return [...normal, ...with_down_account, { ...upi, ...expiring }]
}

/** Withdrawals do not expire, and only the sandbox ends them, so none has an account that is down or stays pending. */
const WITHDRAWAL_OUTCOMES = OUTCOMES.filter((digits) => digits !== STAYS_PENDING)

/** Draws the routes of withdrawals: without limits, so that funds alone decide. */
export function drawWithdrawalRoutes(choices: Choices): readonly WithdrawalRouteSpec[] {
  const common = {
    provider_accounts: ['sandbox'],
    minimum_amount: 0,
    digits: WITHDRAWAL_OUTCOMES,
    expires_in_seconds: 0,
    limits: { maximum: 0, daily: 0, monthly: 0, since_settlement: 0 },
  }
  const imps = {
    method: 'imps',
    currency: 'INR',
    bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' },
  }
  const transfer = { method: 'bank_transfer', currency: 'LKR', bank: { account: { id: '123456789' } } }
  return [imps, transfer].map((route) => ({ ...common, ...route, has_numeric_ids: choices.chance(0.3) }))
}
