import { isDeepStrictEqual } from 'node:util'
import { withdrawalTotalsKey } from '../domain/payout-limits.ts'
import type { ShardSnapshot } from '../domain/shard-state.ts'

/** Whether two snapshots have the same content, in whatever order. */
export function isSameSnapshot(one: ShardSnapshot, other: ShardSnapshot): boolean {
  return isDeepStrictEqual(byKey(one), byKey(other))
}

function byKey({ head, accounts, holds, early_releases, withdrawal_totals }: ShardSnapshot): unknown {
  const keyed = accounts.map((one): [string, unknown] => [`${one.currency} ${one.merchant_id}`, one])
  const holds_by_id = new Map(holds.map((hold) => [hold.id, hold]))
  const totals_by_key = new Map(withdrawal_totals.map((totals) => [withdrawalTotalsKey(totals), totals]))
  return {
    head,
    accounts: new Map(keyed),
    holds: holds_by_id,
    early_releases: new Set(early_releases),
    withdrawal_totals: totals_by_key,
  }
}
