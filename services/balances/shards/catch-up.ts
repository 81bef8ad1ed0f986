import type { Batch } from '../domain/entry.ts'
import { assertFollows } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/journal.ts'

/**
 * Reads the batches after the head of a state and applies them, after checking that each follows the one before it. Ends
 * when a linearizable read finds no next batch: pages alone may come from a former primary during a fail-over. Calls
 * `onPage` after each page. Throws `CorruptJournal` at a batch that does not follow.
 */
export async function catchUp(state: ShardState, journal: Journal, onPage: () => void): Promise<void> {
  function append(batch: Batch): void {
    assertFollows(state.head(), batch)
    state.append(batch)
  }

  for (;;) {
    const batches = await journal.listBatches(state.shard, state.head().seq + 1n, BATCHES_PER_READ)
    for (const batch of batches) append(batch)
    onPage()
    if (batches.length === BATCHES_PER_READ) continue
    const next = await journal.getBatch(state.shard, state.head().seq + 1n)
    if (next === undefined) return
    append(next)
  }
}
