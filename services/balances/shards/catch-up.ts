import { assertFollows } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/ledger-store.ts'

/**
 * Reads the batches after the head of a state, checks that each follows the one before it, and takes them over.
 * `taken` is called after each page. Throws `BrokenJournal` at a batch that cannot follow.
 */
export async function catchUp(state: ShardState, journal: Journal, taken: () => void): Promise<void> {
  for (;;) {
    const batches = await journal.listBatches(state.shard, state.head().seq + 1n, BATCHES_PER_READ)
    for (const batch of batches) {
      assertFollows(state.head(), batch)
      state.append(batch)
    }
    taken()
    if (batches.length < BATCHES_PER_READ) return
  }
}
