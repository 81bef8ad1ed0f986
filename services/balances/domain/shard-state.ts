import { RECENT_ENTRIES_MIN } from '../limits.ts'
import { applyEntry } from './apply-entry.ts'
import type { Batch, BatchPosition, Entry, RecordedEntry } from './entry.ts'
import { EMPTY_JOURNAL, type JournalHead } from './hash-chain.ts'
import type { Hold, LedgerView } from './ledger-view.ts'
import { accountsKey, type MerchantAccounts } from './merchant-accounts.ts'
import { type WithdrawalTotals, withdrawalTotalsKey } from './payout-limits.ts'
import { createShardRows, type RowChanges, type RowPage, type Rows, type StoredRows } from './shard-rows.ts'
import { entryBytes } from './state-size.ts'

/** The state of a shard after one batch, without the recent entries, as lists of rows. */
export interface ShardSnapshot extends Rows {
  readonly shard: number
  readonly head: JournalHead
}

/** A shard in memory: the result of its journal up to `head`. It changes by whole committed batches only. */
export interface ShardState extends LedgerView {
  head(): JournalHead
  /** The accounts of a merchant, one element per currency. */
  accountsOf(merchant_id: string): MerchantAccounts[]
  /**
   * Applies one committed batch. Throws `CorruptJournal` and changes nothing when the batch contradicts the state.
   * `decided` are the changes of the draft on this very state in which the batch was decided; they need no second check.
   */
  append(batch: Batch, decided?: RowChanges): void
  /** Removes the oldest recent entries beyond the limit. */
  trimRecentEntries(): void
  /** Removes all recent entries, which are only a cache. A processor that is deciding must not lose them. */
  forgetRecentEntries(): void
  snapshot(): ShardSnapshot
  /** The pages that hold the rows. A checkpoint stores them. */
  pages(): readonly RowPage[]
  /** Moves the rows of sparse pages together. */
  mergePages(): void
  /** The number of rows in a snapshot. */
  rowCount(): number
  /** The approximate memory of this state, recent entries included. */
  sizeBytes(): number
  /** The number of entries applied by `append` since this state was created. */
  appendedEntries(): number
}

/** A batch being decided: the state as it will be once the entries recorded so far are committed. */
export interface BatchDraft extends LedgerView, RowChanges {
  readonly entries: readonly Entry[]
  record(entry: Entry): void
}

/** A snapshot, or a part of one. Stored parts make pages that need not be written again. */
export type ShardSource = Pick<ShardSnapshot, 'shard'> &
  Partial<ShardSnapshot> & { readonly parts?: readonly StoredRows[] }

/** Creates the state of a shard from a snapshot, or the empty state when only the shard is given. */
export function createShardState(from: ShardSource): ShardState {
  const rows = createShardRows(from.parts ?? from)
  const recent = createRecentEntries()
  let head = from.head ?? EMPTY_JOURNAL
  let appended_entries = 0
  const view: LedgerView = {
    shard: from.shard,
    accounts: rows.accounts,
    hold: rows.hold,
    isReleasedEarly: rows.isReleasedEarly,
    withdrawalTotals: rows.withdrawalTotals,
    recordedEntry: recent.get,
  }
  return {
    ...view,
    head: () => head,
    accountsOf: rows.accountsOf,
    append(batch, decided) {
      rows.change(decided ?? replayed(view, batch))
      appended_entries += batch.entries.length
      recent.add(batch)
      head = { seq: batch.seq, time_ms: batch.time.getTime(), hash: batch.hash }
    },
    trimRecentEntries: recent.trim,
    forgetRecentEntries: recent.clear,
    snapshot: () => ({ shard: from.shard, head, ...rows.all() }),
    pages: rows.pages,
    mergePages: rows.mergePages,
    rowCount: rows.count,
    sizeBytes: () => rows.sizeBytes() + recent.sizeBytes(),
    appendedEntries: () => appended_entries,
  }
}

/** The changes of a batch that was read: every entry is checked against the state before it. */
function replayed(view: LedgerView, batch: Batch): RowChanges {
  const draft = createBatchDraft(view, batch)
  for (const entry of batch.entries) draft.record(entry)
  return draft
}

/** Creates a draft on top of a state. The draft never changes the state, so a superseded draft is simply dropped. */
export function createBatchDraft(base: LedgerView, { shard, seq, time }: BatchPosition): BatchDraft {
  const changed_accounts = new Map<string, MerchantAccounts>()
  const changed_holds = new Map<string, Hold | undefined>()
  const changed_early_releases = new Map<string, boolean>()
  const changed_withdrawal_totals = new Map<string, WithdrawalTotals>()
  const recorded = new Map<string, RecordedEntry>()
  const entries: Entry[] = []
  const draft: BatchDraft = {
    shard,
    entries,
    changed_accounts,
    changed_holds,
    changed_early_releases,
    changed_withdrawal_totals,
    accounts: (merchant_id, currency) =>
      changed_accounts.get(accountsKey(merchant_id, currency)) ?? base.accounts(merchant_id, currency),
    hold: (id) => (changed_holds.has(id) ? changed_holds.get(id) : base.hold(id)),
    isReleasedEarly: (hold_id) => changed_early_releases.get(hold_id) ?? base.isReleasedEarly(hold_id),
    withdrawalTotals: (merchant_id, currency, service_id) =>
      changed_withdrawal_totals.get(withdrawalTotalsKey({ merchant_id, currency, service_id })) ??
      base.withdrawalTotals(merchant_id, currency, service_id),
    recordedEntry: (id) => recorded.get(id) ?? base.recordedEntry(id),
    record(entry) {
      const { accounts, opened_hold, closed_hold_id, early_release, withdrawal_totals } = applyEntry(
        draft,
        entry,
      )
      if (accounts) changed_accounts.set(accountsKey(accounts.merchant_id, accounts.currency), accounts)
      if (opened_hold) changed_holds.set(opened_hold.id, opened_hold)
      if (closed_hold_id) changed_holds.set(closed_hold_id, undefined)
      if (early_release) changed_early_releases.set(early_release.hold_id, early_release.is_waiting)
      if (withdrawal_totals)
        changed_withdrawal_totals.set(withdrawalTotalsKey(withdrawal_totals), withdrawal_totals)
      recorded.set(entry.id, { shard, seq, time, entry })
      entries.push(entry)
    },
  }
  return draft
}

/** The entries of the batches that were read or committed most recently, by id. */
interface RecentEntries {
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
