import { log } from '#lib/platform/telemetry/log.ts'
import { dropCheckpoint, readCheckpoint, saveCheckpoint } from '../checkpoints/checkpoint.ts'
import { isSameSnapshot } from '../checkpoints/compare-snapshots.ts'
import { NewerBatchFormat } from '../domain/batch-format.ts'
import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'
import { createShardState, type ShardSnapshot } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

/**
 * Replaces the checkpoints that are damaged or contradict the journal. Returns their number. Shards with a batch of a
 * newer format are left to processes of a newer release. Throws `CorruptJournal` after the last shard when the journal
 * of any shard is not sound.
 */
export async function rebuildCheckpoints(store: LedgerStore): Promise<number> {
  let repaired = 0
  let corruption: CorruptJournal | undefined
  for (let shard = 0; shard < SHARDS; shard += 1) {
    try {
      if (await rebuildCheckpoint(store, shard)) repaired += 1
    } catch (error) {
      if (error instanceof CorruptJournal) corruption ??= error
      else if (error instanceof NewerBatchFormat)
        log.warn({ shard, error }, 'the checkpoint of a shard is left to processes of a newer release')
      else throw error
    }
  }
  if (corruption !== undefined) throw corruption
  return repaired
}

/**
 * Replays the journal of a shard while the ledger works, and replaces its checkpoint when that differs. Returns whether
 * it did. Throws `CorruptJournal` when the journal itself is not sound.
 */
async function rebuildCheckpoint(store: LedgerStore, shard: number): Promise<boolean> {
  // The checkpoint is read first, so that one which is saved meanwhile does not look as if it were ahead of the journal.
  const checkpoint = await readCheckpoint(store, shard)
  if (checkpoint === undefined) return false
  const last_seq = await store.journal.lastSequence(shard)
  const state = createShardState({ shard })
  let expected: ShardSnapshot | undefined
  while (state.head().seq < last_seq) {
    const next_seq = state.head().seq + 1n
    const batches = await store.journal.listBatches(shard, next_seq, BATCHES_PER_READ)
    if (batches.length === 0) throw new CorruptJournal(`shard ${shard}: batch ${next_seq} is missing`)
    for (const batch of batches) {
      assertFollows(state.head(), batch)
      state.append(batch)
      state.trimRecentEntries()
      if (batch.seq === checkpoint.seq) expected = state.snapshot()
    }
  }
  if (checkpoint.status === 'sound' && expected && isSameSnapshot(expected, checkpoint.snapshot)) return false
  await dropCheckpoint(store.checkpoints, shard, checkpoint)
  if (last_seq > 0n) await saveCheckpoint(store.checkpoints, state.snapshot())
  return true
}
