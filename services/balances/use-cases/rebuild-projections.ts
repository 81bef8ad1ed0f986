import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'
import { createShardState, type ShardSnapshot } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import { dropCheckpoint, readCheckpoint, saveCheckpoint } from '../projections/checkpoint.ts'
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
 * missing, altered or surplus are written or deleted; a checkpoint that is damaged or contradicts the journal is
 * replaced. Throws `CorruptJournal` when the journal itself is not sound.
 */
async function rebuildShard(store: LedgerStore, shard: number): Promise<number> {
  // The checkpoint is read first, so that one which is saved meanwhile does not look as if it were ahead of the journal.
  const checkpoint = await readCheckpoint(store, shard)
  const last_seq = await store.journal.lastSequence(shard)
  const state = createShardState({ shard })
  let repaired = 0
  let expected: ShardSnapshot | undefined
  while (state.head().seq < last_seq) {
    const next_seq = state.head().seq + 1n
    const batches = await store.journal.listBatches(shard, next_seq, BATCHES_PER_READ)
    if (batches.length === 0) throw new CorruptJournal(`shard ${shard}: batch ${next_seq} is missing`)
    for (const batch of batches) {
      assertFollows(state.head(), batch)
      state.append(batch)
      state.trimRecentEntries()
      repaired += await repairEntries(store, shard, batch.seq, entryDocuments(batch))
      if (batch.seq === checkpoint?.seq) expected = state.snapshot()
    }
  }
  if (last_seq > 0n) await store.entries.advanceProjectedSequence(shard, last_seq)
  if (checkpoint === undefined) return repaired
  if (checkpoint.status === 'sound' && expected && isSameSnapshot(expected, checkpoint.snapshot))
    return repaired
  await dropCheckpoint(store.checkpoints, shard, checkpoint)
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
