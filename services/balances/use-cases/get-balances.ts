import type { Environment } from '#lib/contract/environment.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'
import { shardOf } from '../domain/shard.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'
import type { Journal } from '../store/journal.ts'

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

/** What a merchant could spend and what was held in one currency. */
type Balance = Pick<MerchantAccounts, 'currency' | 'available' | 'held'>

/**
 * The balances of a merchant at an instant, sorted by currency code: those after the last entry that was decided up to
 * then, the millisecond of the instant included. A currency without an entry by then is left out. It reads one batch per
 * currency and one for the instant, however long the journal is. A batch whose commit takes long has the time of its
 * decision, so the balances of the last seconds can still change.
 */
export async function getBalancesAt(
  shards: LoadedShards,
  journal: Journal,
  environment: Environment,
  merchant_id: string,
  instant: Date,
): Promise<Balance[]> {
  const shard = shardOf(merchant_id, environment)
  // This ends with a linearizable read or a write of the journal, so the reads after it do not come from a former primary.
  const present = await getAccounts(shards, environment, merchant_id)
  const last = await journal.lastSequenceBefore(shard, new Date(instant.getTime() + 1))
  const entries = await Promise.all(
    present.map(async ({ currency }) => {
      const statement = { shard, merchant_id, currency }
      const range = { first: 1n, last }
      const [batch] = await journal.listStatementBatches(statement, range, { limit: 1, reverse: true })
      return batch?.entries.findLast(
        (entry) => entry.merchant_id === merchant_id && entry.currency === currency,
      )
    }),
  )
  return entries.flatMap((entry) =>
    entry ? [{ currency: entry.currency, available: entry.available, held: entry.held }] : [],
  )
}
