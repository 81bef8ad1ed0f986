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
}

/** A shard in memory: the result of its journal up to `head`. It changes by whole committed batches only. */
export interface ShardState extends LedgerView {
  head(): JournalHead
  /** The accounts of a merchant, one element per currency. */
  accountsOf(merchant_id: string): MerchantAccounts[]
  /** Applies one committed batch. Throws `CorruptJournal` and changes nothing when the batch contradicts the state. */
  append(batch: Batch): void
  /** Removes the oldest recent entries beyond the limit, but none of a batch after `keep_after`. */
  trimRecentEntries(keep_after: bigint): void
  snapshot(): ShardSnapshot
}

/** A batch being decided: the state as it will be once the entries recorded so far are committed. */
export interface BatchDraft extends LedgerView {
  readonly entries: readonly Entry[]
  record(entry: Entry): void
  /** The accounts that changed, by an internal key. */
  readonly changed_accounts: ReadonlyMap<string, MerchantAccounts>
  /** The holds that changed, by id: the hold when it opened, `undefined` when it closed. */
  readonly changed_holds: ReadonlyMap<string, Hold | undefined>
}

/** Creates the state of a shard from a snapshot, or the empty state when only the shard is given. */
export function createShardState(from: Pick<ShardSnapshot, 'shard'> & Partial<ShardSnapshot>): ShardState {
  const merchants = new Map<string, Map<string, MerchantAccounts>>()
  const holds = new Map<string, Hold>()
  const recent = createRecentEntries()
  let head = from.head ?? EMPTY_JOURNAL
  const setAccounts = (accounts: MerchantAccounts): void => {
    const currencies = merchants.get(accounts.merchant_id)
    if (currencies) currencies.set(accounts.currency, accounts)
    else merchants.set(accounts.merchant_id, new Map([[accounts.currency, accounts]]))
  }
  for (const accounts of from.accounts ?? []) setAccounts(accounts)
  for (const hold of from.holds ?? []) holds.set(hold.id, hold)

  const view: LedgerView = {
    shard: from.shard,
    accounts: (merchant_id, currency) =>
      merchants.get(merchant_id)?.get(currency) ?? emptyAccounts(merchant_id, currency),
    hold: (id) => holds.get(id),
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
      recent.add(batch)
      head = { seq: batch.seq, time_ms: batch.time.getTime(), hash: batch.hash }
    },
    trimRecentEntries: (keep_after) => recent.trim(keep_after),
    snapshot: () => ({
      shard: from.shard,
      head,
      accounts: [...merchants.values()].flatMap((currencies) => [...currencies.values()]),
      holds: [...holds.values()],
    }),
  }
}

/** Creates a draft on top of a state. The draft never changes the state, so a superseded draft is simply dropped. */
export function createBatchDraft(base: LedgerView, { shard, seq, time }: BatchPosition): BatchDraft {
  const changed_accounts = new Map<string, MerchantAccounts>()
  const changed_holds = new Map<string, Hold | undefined>()
  const recorded = new Map<string, RecordedEntry>()
  const entries: Entry[] = []
  const draft: BatchDraft = {
    shard,
    entries,
    changed_accounts,
    changed_holds,
    accounts: (merchant_id, currency) =>
      changed_accounts.get(`${currency}${merchant_id}`) ?? base.accounts(merchant_id, currency),
    hold: (id) => (changed_holds.has(id) ? changed_holds.get(id) : base.hold(id)),
    recordedEntry: (id) => recorded.get(id) ?? base.recordedEntry(id),
    record(entry) {
      const { accounts, opened_hold, closed_hold_id } = applyEntry(draft, entry)
      changed_accounts.set(`${accounts.currency}${accounts.merchant_id}`, accounts)
      if (opened_hold) changed_holds.set(opened_hold.id, opened_hold)
      if (closed_hold_id) changed_holds.set(closed_hold_id, undefined)
      recorded.set(entry.id, { shard, seq, time, entry })
      entries.push(entry)
    },
  }
  return draft
}
