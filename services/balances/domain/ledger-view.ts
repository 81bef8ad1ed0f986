import type { RecordedEntry } from './entry.ts'
import type { MerchantAccounts } from './merchant-accounts.ts'
import type { WithdrawalCount, WithdrawalTotals } from './payout-limits.ts'

/** Funds that are reserved until the hold is captured or released. */
export interface Hold {
  readonly id: string
  readonly merchant_id: string
  readonly currency: string
  /** Above zero, in minor units. */
  readonly amount: bigint
  readonly payment_id?: string
  /** Where the withdrawal is counted, and gives back to when the hold is released. */
  readonly counted?: WithdrawalCount
}

/** The state of one shard as a decision reads it. */
export interface LedgerView {
  readonly shard: number
  /** The accounts of a merchant in a currency; all zero when there is no entry yet. */
  accounts(merchant_id: string, currency: string): MerchantAccounts
  /** The withdrawal totals of a route; empty when none was counted yet. */
  withdrawalTotals(merchant_id: string, currency: string, service_id: number): WithdrawalTotals
  /** A hold that is neither captured nor released. */
  hold(id: string): Hold | undefined
  /** Whether the release of this hold was recorded and the hold has not arrived since. */
  isReleasedEarly(hold_id: string): boolean
  /** The entry with this id when it is still in memory. Older entries are in the journal only. */
  recordedEntry(id: string): RecordedEntry | undefined
}
