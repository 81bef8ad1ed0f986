import { isDeepStrictEqual } from 'node:util'
import type { ShardSnapshot } from '../domain/shard-state.ts'
import type { Entries, EntryDocument } from '../store/entries.ts'

/** Reads the documents of one batch in the projection of entries, by position. */
export async function entriesByPosition(
  entries: Entries,
  shard: number,
  seq: bigint,
): Promise<Map<number, EntryDocument>> {
  return new Map((await entries.listBatch(shard, seq)).map((document) => [document.position, document]))
}

/** Whether a stored document equals the one that follows from the journal. The store's version number is ignored. */
export function isSameEntry(
  stored: (EntryDocument & { readonly version?: number }) | undefined,
  expected: EntryDocument,
): boolean {
  if (stored === undefined) return false
  const { version: _, ...content } = stored
  return isDeepStrictEqual(content, expected)
}

/** Whether two snapshots have the same content, in whatever order. */
export function isSameSnapshot(one: ShardSnapshot, other: ShardSnapshot): boolean {
  return isDeepStrictEqual(byKey(one), byKey(other))
}

function byKey({ head, accounts, holds, early_releases }: ShardSnapshot): unknown {
  const keyed = accounts.map((one): [string, unknown] => [`${one.currency} ${one.merchant_id}`, one])
  const holds_by_id = new Map(holds.map((hold) => [hold.id, hold]))
  return { head, accounts: new Map(keyed), holds: holds_by_id, early_releases: new Set(early_releases) }
}
