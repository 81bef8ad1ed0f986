import type { Hold } from './ledger-view.ts'
import { emptyAccounts, type MerchantAccounts } from './merchant-accounts.ts'
import { emptyWithdrawalTotals, type WithdrawalTotals, withdrawalTotalsKey } from './payout-limits.ts'
import { accountsBytes, earlyReleaseBytes, holdBytes, withdrawalTotalsBytes } from './state-size.ts'

/** The rows of a shard. Their order follows from the journal, so that all processes have the same. */
export interface Rows {
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
  /** The ids of the holds that were released before they arrived. */
  readonly early_releases: readonly string[]
  readonly withdrawal_totals: readonly WithdrawalTotals[]
}

/** The rows that a batch changes. */
export interface RowChanges {
  /** The accounts that changed, by an internal key. */
  readonly changed_accounts: ReadonlyMap<string, MerchantAccounts>
  /** The holds that changed, by id: the hold when it opened, `undefined` when it closed. */
  readonly changed_holds: ReadonlyMap<string, Hold | undefined>
  /** The holds by id whose early release was recorded (`true`), or that arrived after it and were refused (`false`). */
  readonly changed_early_releases: ReadonlyMap<string, boolean>
  /** The withdrawal totals that changed, by `withdrawalTotalsKey`. */
  readonly changed_withdrawal_totals: ReadonlyMap<string, WithdrawalTotals>
}

/** The rows of a shard in memory. */
export interface ShardRows {
  accounts(merchant_id: string, currency: string): MerchantAccounts
  accountsOf(merchant_id: string): MerchantAccounts[]
  hold(id: string): Hold | undefined
  isReleasedEarly(hold_id: string): boolean
  withdrawalTotals(merchant_id: string, currency: string, service_id: number): WithdrawalTotals
  change(changes: RowChanges): void
  all(): Rows
  count(): number
  /** The approximate memory of the rows. */
  sizeBytes(): number
}

/** Creates the rows of a shard. */
export function createShardRows({
  accounts = [],
  holds = [],
  early_releases = [],
  withdrawal_totals = [],
}: Partial<Rows>): ShardRows {
  const merchants = new Map<string, Map<string, MerchantAccounts>>()
  const open_holds = new Map<string, Hold>()
  const released_early = new Set<string>()
  const totals_by_key = new Map<string, WithdrawalTotals>()
  let account_rows = 0
  let size_bytes = 0

  function setAccounts(changed: MerchantAccounts): void {
    const currencies = merchants.get(changed.merchant_id) ?? new Map<string, MerchantAccounts>()
    if (currencies.size === 0) merchants.set(changed.merchant_id, currencies)
    if (!currencies.has(changed.currency)) {
      account_rows += 1
      size_bytes += accountsBytes(changed)
    }
    currencies.set(changed.currency, changed)
  }

  function setHold(id: string, hold: Hold | undefined): void {
    const before = open_holds.get(id)
    if (before) size_bytes -= holdBytes(before)
    if (hold) {
      open_holds.set(id, hold)
      size_bytes += holdBytes(hold)
    } else open_holds.delete(id)
  }

  function setEarlyRelease(hold_id: string, is_waiting: boolean): void {
    if (is_waiting === released_early.has(hold_id)) return
    if (is_waiting) released_early.add(hold_id)
    else released_early.delete(hold_id)
    size_bytes += is_waiting ? earlyReleaseBytes(hold_id) : -earlyReleaseBytes(hold_id)
  }

  function setWithdrawalTotals(key: string, totals: WithdrawalTotals): void {
    if (!totals_by_key.has(key)) size_bytes += withdrawalTotalsBytes(totals)
    totals_by_key.set(key, totals)
  }

  for (const one of accounts) setAccounts(one)
  for (const hold of holds) setHold(hold.id, hold)
  for (const hold_id of early_releases) setEarlyRelease(hold_id, true)
  for (const totals of withdrawal_totals) setWithdrawalTotals(withdrawalTotalsKey(totals), totals)
  return {
    accounts: (merchant_id, currency) =>
      merchants.get(merchant_id)?.get(currency) ?? emptyAccounts(merchant_id, currency),
    accountsOf: (merchant_id) => [...(merchants.get(merchant_id)?.values() ?? [])],
    hold: (id) => open_holds.get(id),
    isReleasedEarly: (hold_id) => released_early.has(hold_id),
    withdrawalTotals: (merchant_id, currency, service_id) =>
      totals_by_key.get(withdrawalTotalsKey({ merchant_id, currency, service_id })) ??
      emptyWithdrawalTotals(merchant_id, currency, service_id),
    change({ changed_accounts, changed_holds, changed_early_releases, changed_withdrawal_totals }) {
      for (const changed of changed_accounts.values()) setAccounts(changed)
      for (const [id, hold] of changed_holds) setHold(id, hold)
      for (const [hold_id, is_waiting] of changed_early_releases) setEarlyRelease(hold_id, is_waiting)
      for (const [key, totals] of changed_withdrawal_totals) setWithdrawalTotals(key, totals)
    },
    all: () => ({
      accounts: [...merchants.values()].flatMap((currencies) => [...currencies.values()]),
      holds: [...open_holds.values()],
      early_releases: [...released_early],
      withdrawal_totals: [...totals_by_key.values()],
    }),
    count: () => account_rows + open_holds.size + released_early.size + totals_by_key.size,
    sizeBytes: () => size_bytes,
  }
}
