import { RECENT_ENTRIES_MIN } from '../limits.ts'
import type { Batch, RecordedEntry } from './entry.ts'
import { entryBytes } from './state-size.ts'

/** The entries of the batches that were read or committed most recently, by id. */
export interface RecentEntries {
  get(id: string): RecordedEntry | undefined
  add(batch: Batch): void
  /** Removes whole batches, the oldest first, down to the limit. */
  trim(): void
  /** Removes all entries. */
  clear(): void
  /** The approximate memory of the entries. */
  sizeBytes(): number
}

/**
 * Keeps at least `limit` entries. They answer quick repeats without a lookup in the journal. They are only a cache: the
 * unique index of the journal refuses a batch that repeats an id.
 */
export function createRecentEntries(limit = RECENT_ENTRIES_MIN): RecentEntries {
  const entries = new Map<string, RecordedEntry>()
  const batches: Batch[] = []
  let oldest = 0
  let size_bytes = 0
  return {
    get: (id) => entries.get(id),
    add(batch) {
      const { shard, seq, time } = batch
      batches.push(batch)
      for (const entry of batch.entries) {
        entries.set(entry.id, { shard, seq, time, entry })
        size_bytes += entryBytes(entry)
      }
    },
    trim() {
      for (let batch = batches[oldest]; batch !== undefined; batch = batches[oldest]) {
        if (entries.size - batch.entries.length < limit) break
        for (const entry of batch.entries) {
          entries.delete(entry.id)
          size_bytes -= entryBytes(entry)
        }
        oldest += 1
      }
      // Removed batches stay in the array until they are half of it, because removing from its front each time is slow.
      if (oldest > batches.length / 2) {
        batches.splice(0, oldest)
        oldest = 0
      }
    },
    clear() {
      entries.clear()
      batches.length = 0
      oldest = 0
      size_bytes = 0
    },
    sizeBytes: () => size_bytes,
  }
}
