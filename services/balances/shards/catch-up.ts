import { assertFollows } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/journal.ts'

/**
 * Reads the batches after the head of a state and applies them, after checking that each follows the one before it.
 * Calls `onPage` after each page. Throws `CorruptJournal` at a batch that does not follow.
 */
export async function catchUp(state: ShardState, journal: Journal, onPage: () => void): Promise<void> {
  for (;;) {
    const batches = await journal.listBatches(state.shard, state.head().seq + 1n, BATCHES_PER_READ)
    for (const batch of batches) {
      assertFollows(state.head(), batch)
      state.append(batch)
    }
    onPage()
    if (batches.length < BATCHES_PER_READ) return
  }
}
