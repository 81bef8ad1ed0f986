import { assertFollows } from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'
import { createShardState, type ShardSnapshot } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import { dropCheckpoint, loadCheckpoint, saveCheckpoint } from '../projections/checkpoint.ts'
import { entriesByPosition, isSameEntry, isSameSnapshot } from '../projections/compare-projections.ts'
import { type EntryDocument, entryDocuments } from '../store/entries.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

/** Repairs the projection of entries and the checkpoint of every shard. Returns the number of documents that differed from the journals. */
export async function rebuildProjections(store: LedgerStore): Promise<number> {
  let repaired = 0
  for (let shard = 0; shard < SHARDS; shard += 1) repaired += await rebuildShard(store, shard)
  return repaired
}

/**
 * Replays the journal of a shard and repairs what is derived from it while the ledger works. `entries` documents that are
 * missing, altered or surplus are written or deleted; a checkpoint that contradicts the journal is replaced. Throws
 * `CorruptJournal` when the journal itself is not sound.
 */
async function rebuildShard(store: LedgerStore, shard: number): Promise<number> {
  const last_seq = await store.journal.lastSequence(shard)
  const checkpoint = await loadCheckpoint(store.checkpoints, shard)
  const state = createShardState({ shard })
  let repaired = 0
  let expected: ShardSnapshot | undefined
  while (state.head().seq < last_seq) {
    for (const batch of await store.journal.listBatches(shard, state.head().seq + 1n, BATCHES_PER_READ)) {
      assertFollows(state.head(), batch)
      state.append(batch)
      state.trimRecentEntries(batch.seq)
      repaired += await repairEntries(store, shard, batch.seq, entryDocuments(batch))
      if (batch.seq === checkpoint?.head.seq) expected = state.snapshot()
    }
  }
  if (last_seq > 0n) await store.entries.advanceProjectedSequence(shard, last_seq)
  if (checkpoint === undefined || (expected && isSameSnapshot(expected, checkpoint))) return repaired
  await dropCheckpoint(store.checkpoints, shard)
  if (last_seq > 0n) await saveCheckpoint(store.checkpoints, state.snapshot())
  return repaired + 1
}

async function repairEntries(
  store: LedgerStore,
  shard: number,
  seq: bigint,
  expected: EntryDocument[],
): Promise<number> {
  const stored = await entriesByPosition(store.entries, shard, seq)
  const wrong = expected.filter((document) => !isSameEntry(stored.get(document.position), document))
  const surplus = [...stored.values()].filter(({ position }) => expected[position] === undefined)
  await Promise.all(wrong.map(store.entries.overwrite))
  await Promise.all(surplus.map(store.entries.remove))
  return wrong.length + surplus.length
}
