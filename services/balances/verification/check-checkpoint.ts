import type { StoredCheckpoint } from '../checkpoints/checkpoint.ts'
import { isSameSnapshot } from '../checkpoints/compare-snapshots.ts'
import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { createShardState, type ShardSource, type ShardState } from '../domain/shard-state.ts'
import { type ReplayDeps, replayJournal } from './replay-journal.ts'

/** What is wrong with a checkpoint, such as `differs from the journal`. A sound one must not be ahead of `verified`. */
export async function problemOfCheckpoint(
  deps: ReplayDeps,
  checkpoint: StoredCheckpoint,
  verified: ShardState,
): Promise<string | undefined> {
  if (checkpoint.status === 'damaged') return checkpoint.problem
  return (await leadsTo(deps, checkpoint.snapshot, verified)) ? undefined : 'differs from the journal'
}

/** Whether a checkpoint, completed by the batches after it as a load of the shard does, gives the verified state. */
async function leadsTo(deps: ReplayDeps, checkpoint: ShardSource, verified: ShardState): Promise<boolean> {
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
