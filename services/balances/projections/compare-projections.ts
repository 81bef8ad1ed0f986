import { isDeepStrictEqual } from 'node:util'
import type { ShardSnapshot } from '../domain/shard-state.ts'
import type { Entries, EntryDocument } from '../store/ledger-store.ts'

/** What the projection holds of one batch. */
export async function entriesByPosition(
  entries: Entries,
  shard: number,
  seq: bigint,
): Promise<Map<number, EntryDocument>> {
  return new Map((await entries.listBatch(shard, seq)).map((document) => [document.position, document]))
}

/** Whether a document of the projection is what the journal says; the version that the store gave it aside. */
export function isSameEntry(
  there: (EntryDocument & { readonly version?: number }) | undefined,
  right: EntryDocument,
): boolean {
  if (there === undefined) return false
  const { version: _, ...content } = there
  return isDeepStrictEqual(content, right)
}

/** Whether two snapshots say the same, in whatever order. */
export function isSameSnapshot(one: ShardSnapshot, other: ShardSnapshot): boolean {
  return isDeepStrictEqual(byName(one), byName(other))
}

function byName({ head, accounts: books, holds }: ShardSnapshot): unknown {
  const named = books.map((book): [string, unknown] => [`${book.currency} ${book.merchant_id}`, book])
  return { head, books: new Map(named), holds: new Map(holds.map((hold) => [hold.id, hold])) }
}
