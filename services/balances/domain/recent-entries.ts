import { RECENT_ENTRIES } from '../limits.ts'
import type { Batch, Recorded } from './entry.ts'

/** The outcomes of the batches that were read or committed last. */
export interface Recent {
  get(id: string): Recorded | undefined
  add(batch: Batch): void
  /** Forgets whole batches, the oldest first, down to the limit, but none after `keep_after`. */
  forget(keep_after: bigint): void
}

/**
 * A memory of at least `limit` entries. Two uses: a quick repeat is answered from it; and an id that was looked up in
 * the journal at batch n and was absent must be found here if a later batch holds it, so batches after n are kept.
 */
export function createRecent(limit = RECENT_ENTRIES): Recent {
  const outcomes = new Map<string, Recorded>()
  const batches: Batch[] = []
  let oldest = 0
  return {
    get: (id) => outcomes.get(id),
    add(batch) {
      const { shard, seq, time } = batch
      batches.push(batch)
      for (const entry of batch.entries) outcomes.set(entry.id, { shard, seq, time, entry })
    },
    forget(keep_after) {
      for (
        let batch = batches[oldest];
        batch !== undefined && batch.seq <= keep_after;
        batch = batches[oldest]
      ) {
        if (outcomes.size - batch.entries.length < limit) break
        for (const { id } of batch.entries) outcomes.delete(id)
        oldest += 1
      }
      // What is forgotten stays in the array until it is half of it: taking off the front each time would cost more.
      if (oldest > batches.length / 2) {
        batches.splice(0, oldest)
        oldest = 0
      }
    },
  }
}
