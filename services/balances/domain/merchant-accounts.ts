import { fitsInt64 } from '#lib/contract/money.ts'

/** The accounts that every merchant has in each currency, all of them in the merchant's own shard. */
export const ACCOUNT_NAMES = ['available', 'held', 'clearing', 'fees', 'chargebacks', 'adjustments'] as const

/** The name of an account. */
export type AccountName = (typeof ACCOUNT_NAMES)[number]

/**
 * The accounts of one merchant in one currency, in minor units: what was credited less what was debited. Their sum
 * is always zero. `available` is the public `value`, `held` the public `value_freezing` (B1).
 */
export interface MerchantAccounts extends Readonly<Record<AccountName, bigint>> {
  readonly merchant_id: string
  readonly currency: string
}

/** A transfer between two accounts of one book. */
export interface Movement {
  readonly debit: AccountName
  readonly credit: AccountName
  readonly amount: bigint
}

/** The book of a merchant that has no entry in the currency yet. */
export function emptyAccounts(merchant_id: string, currency: string): MerchantAccounts {
  return {
    merchant_id,
    currency,
    available: 0n,
    held: 0n,
    clearing: 0n,
    fees: 0n,
    chargebacks: 0n,
    adjustments: 0n,
  }
}

/** The book after a movement, or `undefined` when one of the two accounts would leave 64 bits. */
export function applyMovement(
  book: MerchantAccounts,
  { debit, credit, amount }: Movement,
): MerchantAccounts | undefined {
  const debited = book[debit] - amount
  const credited = book[credit] + amount
  if (!fitsInt64(debited) || !fitsInt64(credited)) return undefined
  return { ...book, [debit]: debited, [credit]: credited }
}

/** The sum over the accounts of a book: zero, or money came from nowhere. */
export function sumOfAccounts(book: MerchantAccounts): bigint {
  return ACCOUNT_NAMES.reduce((sum, account) => sum + book[account], 0n)
}

/** Whether a text names an account. */
export function isAccountName(name: string): name is AccountName {
  return (ACCOUNT_NAMES as readonly string[]).includes(name)
}
