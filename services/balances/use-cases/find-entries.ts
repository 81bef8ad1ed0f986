import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { findEntry, type RecordedEntry } from '../domain/entry.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import type { Journal } from '../store/journal.ts'

const READS_AT_ONCE = 32

/**
 * The entries with this id, in the order of their shards: at most one per shard. Only the database of a shard knows which ids
 * are used, so without a merchant all 256 shards are asked; an index over all of them would be paid for by each commit.
 */
export async function findEntries(
  journal: Pick<Journal, 'findByEntryId'>,
  entry_id: string,
  merchant_id: string | undefined,
): Promise<readonly RecordedEntry[]> {
  const shards =
    merchant_id === undefined ? Array.from({ length: SHARDS }, (_, shard) => shard) : shardsOf(merchant_id)
  const found: RecordedEntry[] = []
  for (let first = 0; first < shards.length; first += READS_AT_ONCE) {
    const some = shards.slice(first, first + READS_AT_ONCE)
    const batches = await Promise.all(some.map((shard) => journal.findByEntryId(shard, entry_id, 1)))
    found.push(...batches.flat().flatMap((batch) => findEntry(batch, entry_id) ?? []))
  }
  return found.filter(({ entry }) => merchant_id === undefined || entry.merchant_id === merchant_id)
}

function shardsOf(merchant_id: string): readonly number[] {
  const environments: readonly MerchantScope['environment'][] = ['test', 'production']
  return environments.map((environment) => shardOf(merchant_id, environment))
}
