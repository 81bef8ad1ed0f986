import { assertFollows } from '../domain/hash-chain.ts'
import { createShardState, type ShardSnapshot } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import { dropCheckpoint, loadCheckpoint, saveCheckpoint } from '../projections/checkpoint.ts'
import { entriesByPosition, isSameEntry, isSameSnapshot } from '../projections/compare-projections.ts'
import { type EntryDocument, entryDocuments, type LedgerStore } from '../store/ledger-store.ts'

/**
 * Makes the projections of a shard anew from its journal, while the ledger works: documents of `entries` that are
 * missing, altered or too many are put right, and a checkpoint that is not what the journal says is replaced. Answers
 * how many documents differed. Throws `BrokenJournal` when there is nothing sound to rebuild from.
 */
export async function rebuildShard(store: LedgerStore, shard: number): Promise<number> {
  const last = await store.journal.lastSequence(shard)
  const checkpoint = await loadCheckpoint(store.checkpoints, shard)
  const state = createShardState({ shard })
  let differing = 0
  let sound: ShardSnapshot | undefined
  while (state.head().seq < last) {
    for (const batch of await store.journal.listBatches(shard, state.head().seq + 1n, BATCHES_PER_READ)) {
      assertFollows(state.head(), batch)
      state.append(batch)
      state.trimRecentEntries(batch.seq)
      differing += await repairEntries(store, shard, batch.seq, entryDocuments(batch))
      if (batch.seq === checkpoint?.head.seq) sound = state.snapshot()
    }
  }
  if (last > 0n) await store.entries.advanceProjectedSequence(shard, last)
  if (checkpoint === undefined || (sound && isSameSnapshot(sound, checkpoint))) return differing
  await dropCheckpoint(store.checkpoints, shard)
  if (last > 0n) await saveCheckpoint(store.checkpoints, state.snapshot())
  return differing + 1
}

async function repairEntries(
  store: LedgerStore,
  shard: number,
  seq: bigint,
  right: EntryDocument[],
): Promise<number> {
  const there = await entriesByPosition(store.entries, shard, seq)
  const wrong = right.filter((document) => !isSameEntry(there.get(document.position), document))
  const extra = [...there.values()].filter(({ position }) => right[position] === undefined)
  await Promise.all(wrong.map(store.entries.overwrite))
  await Promise.all(extra.map(store.entries.remove))
  return wrong.length + extra.length
}
