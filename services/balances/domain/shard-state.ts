import { changeOf, type Hold } from './apply-entry.ts'
import type { Batch, Entry, Position, Recorded } from './entry.ts'
import { EMPTY_HEAD, type Head } from './hash-chain.ts'
import { type Book, emptyBook } from './merchant-accounts.ts'
import { createRecent } from './recent-entries.ts'

/** What a decision looks at. */
export interface View {
  readonly shard: number
  book(merchant_id: string, currency: string): Book
  /** A hold that is neither captured nor released. */
  hold(id: string): Hold | undefined
  /** The outcome of an id, when it is still remembered; an older one is in the journal only. */
  recorded(id: string): Recorded | undefined
}

/** The whole of a shard at one batch, without the memory of ids: what a checkpoint keeps. */
export interface Snapshot {
  readonly shard: number
  readonly head: Head
  readonly books: readonly Book[]
  readonly holds: readonly Hold[]
}

/** A shard in memory: exactly what its journal says up to `head`. It changes by whole committed batches only. */
export interface ShardState extends View {
  head(): Head
  booksOf(merchant_id: string): Book[]
  /** Moves on by one committed batch; throws `BrokenJournal`, and stays as it is, when that cannot follow. */
  append(batch: Batch): void
  /** Forgets the oldest ids beyond the limit, but none of a batch after `keep_after`. */
  forget(keep_after: bigint): void
  snapshot(): Snapshot
}

/** A decision under way: the state as it will be when the entries recorded so far are committed. */
export interface Draft extends View {
  readonly entries: readonly Entry[]
  record(entry: Entry): void
  /** The books that changed, and the holds that opened or (`undefined`) ended. */
  readonly books: ReadonlyMap<string, Book>
  readonly holds: ReadonlyMap<string, Hold | undefined>
}

/** A state at a checkpoint, or at the beginning of the log. */
export function createState(from: Pick<Snapshot, 'shard'> & Partial<Snapshot>): ShardState {
  const books = new Map<string, Map<string, Book>>()
  const holds = new Map<string, Hold>()
  const recent = createRecent()
  let head = from.head ?? EMPTY_HEAD
  const put = (book: Book): void => {
    const own = books.get(book.merchant_id)
    if (own) own.set(book.currency, book)
    else books.set(book.merchant_id, new Map([[book.currency, book]]))
  }
  for (const book of from.books ?? []) put(book)
  for (const hold of from.holds ?? []) holds.set(hold.id, hold)

  const view: View = {
    shard: from.shard,
    book: (merchant_id, currency) =>
      books.get(merchant_id)?.get(currency) ?? emptyBook(merchant_id, currency),
    hold: (id) => holds.get(id),
    recorded: (id) => recent.get(id),
  }
  return {
    ...view,
    head: () => head,
    booksOf: (merchant_id) => [...(books.get(merchant_id)?.values() ?? [])],
    append(batch) {
      const draft = createDraft(view, batch)
      for (const entry of batch.entries) draft.record(entry)
      for (const book of draft.books.values()) put(book)
      for (const [id, hold] of draft.holds) {
        if (hold) holds.set(id, hold)
        else holds.delete(id)
      }
      recent.add(batch)
      head = { seq: batch.seq, time_ms: batch.time.getTime(), hash: batch.hash }
    },
    forget: (keep_after) => recent.forget(keep_after),
    snapshot: () => ({
      shard: from.shard,
      head,
      books: [...books.values()].flatMap((own) => [...own.values()]),
      holds: [...holds.values()],
    }),
  }
}

/** A draft on top of a state, which stays as it is: a draft whose batch was overtaken is simply dropped. */
export function createDraft(base: View, { shard, seq, time }: Position): Draft {
  const books = new Map<string, Book>()
  const holds = new Map<string, Hold | undefined>()
  const recorded = new Map<string, Recorded>()
  const entries: Entry[] = []
  const draft: Draft = {
    shard,
    entries,
    books,
    holds,
    book: (merchant_id, currency) =>
      books.get(`${currency}${merchant_id}`) ?? base.book(merchant_id, currency),
    hold: (id) => (holds.has(id) ? holds.get(id) : base.hold(id)),
    recorded: (id) => recorded.get(id) ?? base.recorded(id),
    record(entry) {
      const { book, opened, closed } = changeOf(draft, entry)
      books.set(`${book.currency}${book.merchant_id}`, book)
      if (opened) holds.set(opened.id, opened)
      if (closed) holds.set(closed, undefined)
      recorded.set(entry.id, { shard, seq, time, entry })
      entries.push(entry)
    },
  }
  return draft
}
