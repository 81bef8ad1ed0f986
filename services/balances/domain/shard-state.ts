import { applyEntry, type Hold } from './apply-entry.ts'
import type { Batch, BatchPosition, Entry, RecordedEntry } from './entry.ts'
import { EMPTY_JOURNAL, type JournalHead } from './hash-chain.ts'
import { emptyAccounts, type MerchantAccounts } from './merchant-accounts.ts'
import { createRecentEntries } from './recent-entries.ts'

/** What a decision looks at. */
export interface LedgerView {
  readonly shard: number
  accounts(merchant_id: string, currency: string): MerchantAccounts
  /** A hold that is neither captured nor released. */
  hold(id: string): Hold | undefined
  /** The outcome of an id, when it is still remembered; an older one is in the journal only. */
  recordedEntry(id: string): RecordedEntry | undefined
}

/** The whole of a shard at one batch, without the memory of ids: what a checkpoint keeps. */
export interface ShardSnapshot {
  readonly shard: number
  readonly head: JournalHead
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
}

/** A shard in memory: exactly what its journal says up to `head`. It changes by whole committed batches only. */
export interface ShardState extends LedgerView {
  head(): JournalHead
  accountsOf(merchant_id: string): MerchantAccounts[]
  /** Moves on by one committed batch; throws `BrokenJournal`, and stays as it is, when that cannot follow. */
  append(batch: Batch): void
  /** Forgets the oldest ids beyond the limit, but none of a batch after `keep_after`. */
  trimRecentEntries(keep_after: bigint): void
  snapshot(): ShardSnapshot
}

/** A decision under way: the state as it will be when the entries recorded so far are committed. */
export interface BatchDraft extends LedgerView {
  readonly entries: readonly Entry[]
  record(entry: Entry): void
  /** The books that changed, and the holds that opened or (`undefined`) ended. */
  readonly changed_accounts: ReadonlyMap<string, MerchantAccounts>
  readonly changed_holds: ReadonlyMap<string, Hold | undefined>
}

/** A state at a checkpoint, or at the beginning of the log. */
export function createShardState(from: Pick<ShardSnapshot, 'shard'> & Partial<ShardSnapshot>): ShardState {
  const books = new Map<string, Map<string, MerchantAccounts>>()
  const holds = new Map<string, Hold>()
  const recent = createRecentEntries()
  let head = from.head ?? EMPTY_JOURNAL
  const put = (book: MerchantAccounts): void => {
    const own = books.get(book.merchant_id)
    if (own) own.set(book.currency, book)
    else books.set(book.merchant_id, new Map([[book.currency, book]]))
  }
  for (const book of from.accounts ?? []) put(book)
  for (const hold of from.holds ?? []) holds.set(hold.id, hold)

  const view: LedgerView = {
    shard: from.shard,
    accounts: (merchant_id, currency) =>
      books.get(merchant_id)?.get(currency) ?? emptyAccounts(merchant_id, currency),
    hold: (id) => holds.get(id),
    recordedEntry: (id) => recent.get(id),
  }
  return {
    ...view,
    head: () => head,
    accountsOf: (merchant_id) => [...(books.get(merchant_id)?.values() ?? [])],
    append(batch) {
      const draft = createBatchDraft(view, batch)
      for (const entry of batch.entries) draft.record(entry)
      for (const book of draft.changed_accounts.values()) put(book)
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
      accounts: [...books.values()].flatMap((own) => [...own.values()]),
      holds: [...holds.values()],
    }),
  }
}

/** A draft on top of a state, which stays as it is: a draft whose batch was overtaken is simply dropped. */
export function createBatchDraft(base: LedgerView, { shard, seq, time }: BatchPosition): BatchDraft {
  const books = new Map<string, MerchantAccounts>()
  const holds = new Map<string, Hold | undefined>()
  const recorded = new Map<string, RecordedEntry>()
  const entries: Entry[] = []
  const draft: BatchDraft = {
    shard,
    entries,
    changed_accounts: books,
    changed_holds: holds,
    accounts: (merchant_id, currency) =>
      books.get(`${currency}${merchant_id}`) ?? base.accounts(merchant_id, currency),
    hold: (id) => (holds.has(id) ? holds.get(id) : base.hold(id)),
    recordedEntry: (id) => recorded.get(id) ?? base.recordedEntry(id),
    record(entry) {
      const { accounts: book, opened_hold: opened, closed_hold_id: closed } = applyEntry(draft, entry)
      books.set(`${book.currency}${book.merchant_id}`, book)
      if (opened) holds.set(opened.id, opened)
      if (closed) holds.set(closed, undefined)
      recorded.set(entry.id, { shard, seq, time, entry })
      entries.push(entry)
    },
  }
  return draft
}
