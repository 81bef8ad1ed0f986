import { RECENT_ENTRIES_MIN } from '../limits.ts'
import type { Batch, RecordedEntry } from './entry.ts'

/** The outcomes of the batches that were read or committed last. */
export interface RecentEntries {
  get(id: string): RecordedEntry | undefined
  add(batch: Batch): void
  /** Forgets whole batches, the oldest first, down to the limit, but none after `keep_after`. */
  trim(keep_after: bigint): void
}

/**
 * A memory of at least `limit` entries. Two uses: a quick repeat is answered from it; and an id that was looked up in
 * the journal at batch n and was absent must be found here if a later batch holds it, so batches after n are kept.
 */
export function createRecentEntries(limit = RECENT_ENTRIES_MIN): RecentEntries {
  const outcomes = new Map<string, RecordedEntry>()
  const batches: Batch[] = []
  let oldest = 0
  return {
    get: (id) => outcomes.get(id),
    add(batch) {
      const { shard, seq, time } = batch
      batches.push(batch)
      for (const entry of batch.entries) outcomes.set(entry.id, { shard, seq, time, entry })
    },
    trim(keep_after) {
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
