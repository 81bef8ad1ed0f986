import { fitsInt64 } from '#lib/contract/money.ts'

/** The accounts that every merchant has in each currency, all of them in the merchant's own shard. */
export const ACCOUNTS = ['available', 'frozen', 'clearing', 'fees', 'chargebacks', 'adjustments'] as const

/** The name of an account. */
export type AccountName = (typeof ACCOUNTS)[number]

/**
 * The accounts of one merchant in one currency, in minor units: what was credited less what was debited. Their sum
 * is always zero. `available` is the public `value`, `frozen` the public `value_freezing` (B1).
 */
export interface Book extends Readonly<Record<AccountName, bigint>> {
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
export function emptyBook(merchant_id: string, currency: string): Book {
  return {
    merchant_id,
    currency,
    available: 0n,
    frozen: 0n,
    clearing: 0n,
    fees: 0n,
    chargebacks: 0n,
    adjustments: 0n,
  }
}

/** The book after a movement, or `undefined` when one of the two accounts would leave 64 bits. */
export function moved(book: Book, { debit, credit, amount }: Movement): Book | undefined {
  const debited = book[debit] - amount
  const credited = book[credit] + amount
  if (!fitsInt64(debited) || !fitsInt64(credited)) return undefined
  return { ...book, [debit]: debited, [credit]: credited }
}

/** The sum over the accounts of a book: zero, or money came from nowhere. */
export function sumOf(book: Book): bigint {
  return ACCOUNTS.reduce((sum, account) => sum + book[account], 0n)
}

/** Whether a text names an account. */
export function isAccountName(name: string): name is AccountName {
  return (ACCOUNTS as readonly string[]).includes(name)
}
