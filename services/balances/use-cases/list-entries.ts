import type { Environment } from '#lib/contract/environment.ts'
import { shardOf } from '../domain/shard.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'
import type { EntryDocument, EntryQuery } from '../store/entries.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

/** Selects entries of a merchant in one environment. */
export interface MerchantEntryQuery extends Omit<EntryQuery, 'shard'> {
  readonly environment: Environment
}

/**
 * Reads entries of a merchant, oldest first. It waits for the projection, so that every entry that was acknowledged
 * before the call is included.
 */
export async function listEntries(
  shards: LoadedShards,
  store: LedgerStore,
  { environment, ...query }: MerchantEntryQuery,
): Promise<EntryDocument[]> {
  const shard = shardOf(query.merchant_id, environment)
  await shards.use(shard, async ({ processor, projector }) =>
    projector.waitFor(await processor.read((state) => state.head().seq)),
  )
  return await store.entries.listPage({ ...query, shard })
}
