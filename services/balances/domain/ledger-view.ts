import type { RecordedEntry } from './entry.ts'
import type { MerchantAccounts } from './merchant-accounts.ts'

/** Funds that are reserved until the hold is captured or released. */
export interface Hold {
  readonly id: string
  readonly merchant_id: string
  readonly currency: string
  /** Above zero, in minor units. */
  readonly amount: bigint
  readonly payment_id?: string
}

/** The state of one shard as a decision reads it. */
export interface LedgerView {
  readonly shard: number
  /** The accounts of a merchant in a currency; all zero when there is no entry yet. */
  accounts(merchant_id: string, currency: string): MerchantAccounts
  /** A hold that is neither captured nor released. */
  hold(id: string): Hold | undefined
  /** Whether the release of this hold was recorded and the hold has not arrived since. */
  isReleasedEarly(hold_id: string): boolean
  /** The entry with this id when it is still in memory. Older entries are in the journal only. */
  recordedEntry(id: string): RecordedEntry | undefined
}
