import { fitsInt64 } from '#lib/contract/money.ts'

/** The accounts that every merchant has in each currency. All of them are in the merchant's own shard. */
const ACCOUNT_NAMES = ['available', 'held', 'clearing', 'fees', 'chargebacks', 'adjustments'] as const

/** The name of an account. */
export type AccountName = (typeof ACCOUNT_NAMES)[number]

/**
 * The accounts of one merchant in one currency. Each balance is the credits less the debits, in minor units; the sum
 * over the accounts is always zero. `available` is the public `value`, `held` the public `value_freezing` (B1).
 */
export interface MerchantAccounts extends Readonly<Record<AccountName, bigint>> {
  readonly merchant_id: string
  readonly currency: string
  /** The settlement period: the number of settlements so far. Payout limits since the last one count in it (P14). */
  readonly period: number
}

/** An amount that goes from one account of a merchant to another in one currency. */
export interface Movement {
  readonly debit: AccountName
  readonly credit: AccountName
  /** Above zero, in minor units. */
  readonly amount: bigint
}

/** The key of accounts in their shard. A currency code has three letters. */
export function accountsKey(merchant_id: string, currency: string): string {
  return `${currency}${merchant_id}`
}

/** The accounts of a merchant without an entry in the currency. */
export function emptyAccounts(merchant_id: string, currency: string): MerchantAccounts {
  return {
    merchant_id,
    currency,
    period: 0,
    available: 0n,
    held: 0n,
    clearing: 0n,
    fees: 0n,
    chargebacks: 0n,
    adjustments: 0n,
  }
}

/** The accounts after a movement, or `undefined` when one of the two balances would exceed 64 bits. */
export function applyMovement(
  accounts: MerchantAccounts,
  { debit, credit, amount }: Movement,
): MerchantAccounts | undefined {
  const debited = accounts[debit] - amount
  const credited = accounts[credit] + amount
  if (!fitsInt64(debited) || !fitsInt64(credited)) return undefined
  return { ...accounts, [debit]: debited, [credit]: credited }
}

/** The sum over all accounts. Any value but zero means that a movement was not double entry. */
export function sumOfAccounts(accounts: MerchantAccounts): bigint {
  return ACCOUNT_NAMES.reduce((sum, account) => sum + accounts[account], 0n)
}

/** Whether a text is the name of an account. */
export function isAccountName(name: string): name is AccountName {
  return (ACCOUNT_NAMES as readonly string[]).includes(name)
}
