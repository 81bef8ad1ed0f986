import { applyEntry } from './apply-entry.ts'
import type { Batch, BatchPosition, Entry, RecordedEntry } from './entry.ts'
import { EMPTY_JOURNAL, type JournalHead } from './hash-chain.ts'
import type { Hold, LedgerView } from './ledger-view.ts'
import { emptyAccounts, type MerchantAccounts } from './merchant-accounts.ts'
import { createRecentEntries } from './recent-entries.ts'

/** The state of a shard after one batch, without the recent entries. A checkpoint stores it. */
export interface ShardSnapshot {
  readonly shard: number
  readonly head: JournalHead
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
  /** The ids of the holds that were released before they arrived. */
  readonly early_releases: readonly string[]
}

/** A shard in memory: the result of its journal up to `head`. It changes by whole committed batches only. */
export interface ShardState extends LedgerView {
  head(): JournalHead
  /** The accounts of a merchant, one element per currency. */
  accountsOf(merchant_id: string): MerchantAccounts[]
  /** Applies one committed batch. Throws `CorruptJournal` and changes nothing when the batch contradicts the state. */
  append(batch: Batch): void
  /** Removes the oldest recent entries beyond the limit. */
  trimRecentEntries(): void
  snapshot(): ShardSnapshot
  /** The number of rows in a snapshot. */
  rowCount(): number
  /** The number of entries applied by `append` since this state was created. */
  appendedEntries(): number
}

/** A batch being decided: the state as it will be once the entries recorded so far are committed. */
export interface BatchDraft extends LedgerView {
  readonly entries: readonly Entry[]
  record(entry: Entry): void
  /** The accounts that changed, by an internal key. */
  readonly changed_accounts: ReadonlyMap<string, MerchantAccounts>
  /** The holds that changed, by id: the hold when it opened, `undefined` when it closed. */
  readonly changed_holds: ReadonlyMap<string, Hold | undefined>
  /** The holds by id whose early release was recorded (`true`), or that arrived after it and were refused (`false`). */
  readonly changed_early_releases: ReadonlyMap<string, boolean>
}

/** Creates the state of a shard from a snapshot, or the empty state when only the shard is given. */
export function createShardState(from: Pick<ShardSnapshot, 'shard'> & Partial<ShardSnapshot>): ShardState {
  const merchants = new Map<string, Map<string, MerchantAccounts>>()
  const holds = new Map<string, Hold>()
  const recent = createRecentEntries()
  const early_releases = new Set(from.early_releases)
  let head = from.head ?? EMPTY_JOURNAL
  let account_rows = 0
  let appended_entries = 0
  const setAccounts = (accounts: MerchantAccounts): void => {
    const currencies = merchants.get(accounts.merchant_id) ?? new Map<string, MerchantAccounts>()
    if (currencies.size === 0) merchants.set(accounts.merchant_id, currencies)
    if (!currencies.has(accounts.currency)) account_rows += 1
    currencies.set(accounts.currency, accounts)
  }
  for (const accounts of from.accounts ?? []) setAccounts(accounts)
  for (const hold of from.holds ?? []) holds.set(hold.id, hold)

  const view: LedgerView = {
    shard: from.shard,
    accounts: (merchant_id, currency) =>
      merchants.get(merchant_id)?.get(currency) ?? emptyAccounts(merchant_id, currency),
    hold: (id) => holds.get(id),
    isReleasedEarly: (hold_id) => early_releases.has(hold_id),
    recordedEntry: (id) => recent.get(id),
  }
  return {
    ...view,
    head: () => head,
    accountsOf: (merchant_id) => [...(merchants.get(merchant_id)?.values() ?? [])],
    append(batch) {
      const draft = createBatchDraft(view, batch)
      for (const entry of batch.entries) draft.record(entry)
      for (const accounts of draft.changed_accounts.values()) setAccounts(accounts)
      for (const [id, hold] of draft.changed_holds) {
        if (hold) holds.set(id, hold)
        else holds.delete(id)
      }
      for (const [hold_id, is_waiting] of draft.changed_early_releases) {
        if (is_waiting) early_releases.add(hold_id)
        else early_releases.delete(hold_id)
      }
      appended_entries += batch.entries.length
      recent.add(batch)
      head = { seq: batch.seq, time_ms: batch.time.getTime(), hash: batch.hash }
    },
    trimRecentEntries: recent.trim,
    snapshot: () => ({
      shard: from.shard,
      head,
      accounts: [...merchants.values()].flatMap((currencies) => [...currencies.values()]),
      holds: [...holds.values()],
      early_releases: [...early_releases],
    }),
    rowCount: () => account_rows + holds.size + early_releases.size,
    appendedEntries: () => appended_entries,
  }
}

/** Creates a draft on top of a state. The draft never changes the state, so a superseded draft is simply dropped. */
export function createBatchDraft(base: LedgerView, { shard, seq, time }: BatchPosition): BatchDraft {
  const changed_accounts = new Map<string, MerchantAccounts>()
  const changed_holds = new Map<string, Hold | undefined>()
  const changed_early_releases = new Map<string, boolean>()
  const recorded = new Map<string, RecordedEntry>()
  const entries: Entry[] = []
  const draft: BatchDraft = {
    shard,
    entries,
    changed_accounts,
    changed_holds,
    changed_early_releases,
    accounts: (merchant_id, currency) =>
      changed_accounts.get(`${currency}${merchant_id}`) ?? base.accounts(merchant_id, currency),
    hold: (id) => (changed_holds.has(id) ? changed_holds.get(id) : base.hold(id)),
    isReleasedEarly: (hold_id) => changed_early_releases.get(hold_id) ?? base.isReleasedEarly(hold_id),
    recordedEntry: (id) => recorded.get(id) ?? base.recordedEntry(id),
    record(entry) {
      const { accounts, opened_hold, closed_hold_id, early_release } = applyEntry(draft, entry)
      if (accounts) changed_accounts.set(`${accounts.currency}${accounts.merchant_id}`, accounts)
      if (opened_hold) changed_holds.set(opened_hold.id, opened_hold)
      if (closed_hold_id) changed_holds.set(closed_hold_id, undefined)
      if (early_release) changed_early_releases.set(early_release.hold_id, early_release.is_waiting)
      recorded.set(entry.id, { shard, seq, time, entry })
      entries.push(entry)
    },
  }
  return draft
}
