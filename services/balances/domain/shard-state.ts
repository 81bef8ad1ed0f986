import { RECENT_ENTRIES_MIN } from '../limits.ts'
import { applyEntry, type RowChange } from './apply-entry.ts'
import type { Batch, BatchPosition, Entry, RecordedEntry } from './entry.ts'
import { assertFollows, EMPTY_JOURNAL, type JournalHead } from './hash-chain.ts'
import { createLedgerView, type LedgerView } from './ledger-view.ts'
import { createShardRows, type StoredRows } from './paged-rows.ts'
import { COUNTED_BYTES, type RowChanges, type RowKind, type RowOf, type Rows } from './rows.ts'

/** The state of a shard after one batch, without the recent entries, as lists of rows. */
export interface ShardSnapshot extends Rows {
  readonly shard: number
  readonly head: JournalHead
}

/** A snapshot, or a part of one. Stored parts make pages that need not be written again. */
export type ShardSource = Pick<ShardSnapshot, 'shard'> &
  Partial<ShardSnapshot> & { readonly parts?: readonly StoredRows[] }

/** A shard in memory: the result of its journal up to `head`. It changes by whole committed batches only. */
export type ShardState = ReturnType<typeof createShardState>

/** Creates the state of a shard from a snapshot, or the empty state when only the shard is given. */
export function createShardState(from: ShardSource) {
  const { shard } = from
  const rows = createShardRows(from)
  const recent = createRecentEntries()
  const view = createLedgerView(shard, rows.findRow, recent.get)
  let head = from.head ?? EMPTY_JOURNAL
  let appended_entries = 0
  return {
    ...view,
    head: (): JournalHead => head,
    accountsOf: rows.accountsOf,
    totalsOf: rows.totalsOf,
    /**
     * Applies one committed batch. Throws `CorruptJournal` and changes nothing when the batch contradicts the state.
     * `decided` are the changes of the draft on this very state in which the batch was decided; they need no second check.
     */
    append(batch: Batch, decided?: RowChanges): void {
      rows.change(decided ?? replay(view, batch))
      appended_entries += batch.entries.length
      recent.add(batch)
      head = { seq: batch.seq, time_ms: batch.time.getTime(), hash: batch.hash }
    },
    /** Removes the oldest recent entries beyond the limit. */
    trimRecentEntries: recent.trim,
    /** Removes all recent entries, which are only a cache. A processor that is deciding must not lose them. */
    forgetRecentEntries: recent.clear,
    snapshot: (): ShardSnapshot => ({ shard, head, ...rows.all() }),
    pages: rows.pages,
    mergePages: rows.mergePages,
    /** The number of rows in a snapshot. */
    rowCount: rows.count,
    /** The approximate memory of this state, recent entries included. */
    sizeBytes: (): number => rows.sizeBytes() + recent.sizeBytes(),
    /** The number of entries applied by `append` since this state was created. */
    appendedEntries: (): number => appended_entries,
  }
}

/** Applies a batch that was read, after checking that it follows the one before it. Throws `CorruptJournal` otherwise. */
export function applyNext(state: ShardState, batch: Batch): void {
  assertFollows(state.head(), batch)
  state.append(batch)
  state.trimRecentEntries()
}

/** The changes of a batch that was read: every entry is checked against the state before it. */
function replay(view: LedgerView, batch: Batch): RowChanges {
  const draft = createBatchDraft(view, batch)
  for (const entry of batch.entries) draft.record(entry)
  return draft.changes
}

/** A batch being decided: the state as it will be once the entries recorded so far are committed. */
export type BatchDraft = ReturnType<typeof createBatchDraft>

/** Creates a draft on top of a state. The draft never changes the state, so a superseded draft is simply dropped. */
export function createBatchDraft(base: LedgerView, { shard, seq, time }: BatchPosition) {
  const changes: { readonly [Kind in RowKind]: Map<string, RowOf[Kind] | undefined> } = {
    accounts: new Map(),
    holds: new Map(),
    early_releases: new Map(),
    withdrawal_totals: new Map(),
  }
  const recorded = new Map<string, RecordedEntry>()
  const entries: Entry[] = []

  function findRow<Kind extends RowKind>(kind: Kind, key: string): RowOf[Kind] | undefined {
    const changed: RowChanges[Kind] = changes[kind]
    return changed.has(key) ? changed.get(key) : base.findRow(kind, key)
  }

  function change<Kind extends RowKind>({ kind, key, row }: RowChange<Kind>): void {
    changes[kind].set(key, row)
  }

  const view = createLedgerView(shard, findRow, (id) => recorded.get(id) ?? base.recordedEntry(id))
  return {
    ...view,
    entries: entries as readonly Entry[],
    changes: changes as RowChanges,
    record(entry: Entry): void {
      applyEntry(view, entry).forEach(change)
      recorded.set(entry.id, { shard, seq, time, entry })
      entries.push(entry)
    },
  }
}

/**
 * Keeps at least `limit` entries of the batches that were read or committed most recently, by id. They answer quick repeats
 * without a lookup in the journal. They are only a cache: the unique index of the journal refuses a batch that repeats an id.
 */
export function createRecentEntries(limit = RECENT_ENTRIES_MIN) {
  const entries = new Map<string, RecordedEntry>()
  const batches: Batch[] = []
  let oldest = 0
  let size_bytes = 0
  return {
    get: (id: string): RecordedEntry | undefined => entries.get(id),
    add(batch: Batch): void {
      const { shard, seq, time } = batch
      batches.push(batch)
      for (const entry of batch.entries) {
        entries.set(entry.id, { shard, seq, time, entry })
        size_bytes += entryBytes(entry)
      }
    },
    /** Removes whole batches, the oldest first, down to the limit. */
    trim(): void {
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
    clear(): void {
      entries.clear()
      batches.length = 0
      oldest = 0
      size_bytes = 0
    },
    sizeBytes: (): number => size_bytes,
  }
}

/** The approximate memory of an entry for quick repeats, in bytes: 480 as measured with Node.js 24, and its texts. */
function entryBytes({ id, merchant_id, reason, payment_id = '', counted }: Entry): number {
  const counted_bytes = counted ? COUNTED_BYTES : 0
  return 480 + counted_bytes + id.length + merchant_id.length + reason.length + payment_id.length
}
