import type { Environment } from '#lib/contract/environment.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'
import { shardOf } from '../domain/shard.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'

/**
 * Reads the accounts of a merchant, sorted by currency code. Every entry that was acknowledged before the call is
 * included.
 */
export async function getAccounts(
  shards: LoadedShards,
  environment: Environment,
  merchant_id: string,
): Promise<MerchantAccounts[]> {
  const accounts = await shards.use(shardOf(merchant_id, environment), ({ processor }) =>
    processor.read((state) => state.accountsOf(merchant_id)),
  )
  return accounts.sort((left, right) => (left.currency < right.currency ? -1 : 1))
}
