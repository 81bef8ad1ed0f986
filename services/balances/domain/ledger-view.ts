import type { RecordedEntry } from './entry.ts'
import { accountsKey, emptyAccounts, type MerchantAccounts } from './merchant-accounts.ts'
import { emptyWithdrawalTotals, type WithdrawalTotals, withdrawalTotalsKey } from './payout-limits.ts'
import type { Hold, RowKind, RowOf } from './rows.ts'

/** Finds a row by its key. */
type FindRow = <Kind extends RowKind>(kind: Kind, key: string) => RowOf[Kind] | undefined

/** The state of one shard as a decision reads it. */
export interface LedgerView {
  readonly shard: number
  readonly findRow: FindRow
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

/** Makes the view of the rows of a shard. */
export function createLedgerView(
  shard: number,
  findRow: FindRow,
  recordedEntry: LedgerView['recordedEntry'],
): LedgerView {
  return {
    shard,
    findRow,
    accounts: (merchant_id, currency) =>
      findRow('accounts', accountsKey(merchant_id, currency)) ?? emptyAccounts(merchant_id, currency),
    withdrawalTotals: (merchant_id, currency, service_id) =>
      findRow('withdrawal_totals', withdrawalTotalsKey({ merchant_id, currency, service_id })) ??
      emptyWithdrawalTotals(merchant_id, currency, service_id),
    hold: (id) => findRow('holds', id),
    isReleasedEarly: (hold_id) => findRow('early_releases', hold_id) !== undefined,
    recordedEntry,
  }
}
