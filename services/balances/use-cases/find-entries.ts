import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { merchantInId } from '../domain/command.ts'
import { findEntry, type RecordedEntry } from '../domain/entry.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import type { Journal } from '../store/journal.ts'

const READS_AT_ONCE = 32

/**
 * The entries with this id, in the order of their shards: at most one per shard. Only the database of a shard knows which ids
 * are used, so all 256 are asked for the id of a payment's entry; an index over all of them would be paid for by each commit. The id
 * of an adjustment or settlement has its merchant, and a text without a colon is no id of an entry.
 */
export async function findEntries(
  journal: Pick<Journal, 'findByEntryId'>,
  entry_id: string,
  merchant_id: string | undefined,
): Promise<readonly RecordedEntry[]> {
  const shards = shardsToAsk(entry_id, merchant_id ?? merchantInId(entry_id))
  const found: RecordedEntry[] = []
  for (let first = 0; first < shards.length; first += READS_AT_ONCE) {
    const some = shards.slice(first, first + READS_AT_ONCE)
    const batches = await Promise.all(some.map((shard) => journal.findByEntryId(shard, entry_id, 1)))
    found.push(...batches.flat().flatMap((batch) => findEntry(batch, entry_id) ?? []))
  }
  return found.filter(({ entry }) => merchant_id === undefined || entry.merchant_id === merchant_id)
}

function shardsToAsk(entry_id: string, merchant_id: string | undefined): readonly number[] {
  const environments: readonly MerchantScope['environment'][] = ['test', 'production']
  if (merchant_id !== undefined) return environments.map((environment) => shardOf(merchant_id, environment))
  return entry_id.includes(':') ? Array.from({ length: SHARDS }, (_, shard) => shard) : []
}
