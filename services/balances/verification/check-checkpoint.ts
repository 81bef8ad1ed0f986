import { isSameSnapshot } from '../checkpoints/compare-snapshots.ts'
import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { createShardState, type ShardSnapshot, type ShardState } from '../domain/shard-state.ts'
import { type ReplayDeps, replayJournal } from './replay-journal.ts'

/**
 * Whether a checkpoint leads to the verified state: it is completed by the batches after it, as a load of the shard
 * does. The checkpoint must not be ahead of the state.
 */
export async function isCheckpointTrue(
  deps: ReplayDeps,
  checkpoint: ShardSnapshot,
  verified: ShardState,
): Promise<boolean> {
  const state = createShardState(checkpoint)
  try {
    await replayJournal(deps, state, verified.head().seq, async (batch) => {
      assertFollows(state.head(), batch)
      state.append(batch)
      state.trimRecentEntries()
      return true
    })
  } catch (error) {
    // The batches are verified, so it is the checkpoint that they do not fit.
    if (error instanceof CorruptJournal) return false
    throw error
  }
  return isSameSnapshot(state.snapshot(), verified.snapshot())
}
