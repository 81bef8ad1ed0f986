import type { Environment } from '#lib/contract/environment.ts'
import type { SettleCommand } from '../domain/command.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'
import type { WithdrawalTotals } from '../domain/payout-limits.ts'
import { shardOf } from '../domain/shard.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'

/** What a settlement is about. */
export type SettlementScope = Pick<SettleCommand, 'merchant_id' | 'currency'>

/** What a settlement would end now. */
export interface SettlementPreview {
  /** The accounts in the currency. Only their period would change. */
  readonly accounts: MerchantAccounts
  /** The routes that have counted withdrawals in the present period, by their ids. */
  readonly totals: readonly WithdrawalTotals[]
}

/** Reads what a settlement would end (P14), and records nothing. Every entry acknowledged before the call counts. */
export async function previewSettlement(
  shards: LoadedShards,
  environment: Environment,
  { merchant_id, currency }: SettlementScope,
): Promise<SettlementPreview> {
  return await shards.use(shardOf(merchant_id, environment), ({ processor }) =>
    processor.read((state) => {
      const accounts = state.accounts(merchant_id, currency)
      const totals = state
        .totalsOf(merchant_id, currency)
        .filter(({ period, period_total }) => period === accounts.period && period_total > 0n)
        .sort((left, right) => left.service_id - right.service_id)
      return { accounts, totals }
    }),
  )
}
