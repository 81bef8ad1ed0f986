import { checkFollows } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { BATCHES_PAGE } from '../limits.ts'
import type { Journal } from '../store/ledger-store.ts'

/**
 * Reads the batches after the head of a state, checks that each follows the one before it, and takes them over.
 * `taken` is called after each page. Throws `BrokenJournal` at a batch that cannot follow.
 */
export async function catchUp(state: ShardState, journal: Journal, taken: () => void): Promise<void> {
  for (;;) {
    const batches = await journal.batches(state.shard, state.head().seq + 1n, BATCHES_PAGE)
    for (const batch of batches) {
      checkFollows(state.head(), batch)
      state.append(batch)
    }
    taken()
    if (batches.length < BATCHES_PAGE) return
  }
}
