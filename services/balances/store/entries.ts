import { insertOrGet, upsert } from '#lib/patterns/update.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Batch, Entry, RecordedEntry } from '../domain/entry.ts'
import { advance, deleteUnchanged } from './guarded-writes.ts'

/** One entry as statements read it. `position` counts the entries within the batch, from 0. */
export interface EntryDocument extends Entry {
  readonly shard: number
  readonly seq: bigint
  readonly position: number
  readonly time: Date
}

/** Selects entries of a merchant, or of one of its payments, after a place in the order (seq, position). */
export interface EntryQuery {
  readonly shard: number
  readonly merchant_id: string
  readonly payment_id?: string | undefined
  readonly after?: { readonly seq: bigint; readonly position: number } | undefined
  readonly limit: number
}

/** The projection of entries: one document per entry, so that statements are read by index. */
export interface Entries {
  /** Inserts an entry. One that exists already stays as it is. */
  insert(document: EntryDocument): Promise<void>
  /** Writes an entry, whether or not a document exists at its key. */
  overwrite(document: EntryDocument): Promise<void>
  remove(key: Pick<EntryDocument, 'shard' | 'seq' | 'position'>): Promise<void>
  /** All documents under one batch. */
  listBatch(shard: number, seq: bigint): Promise<EntryDocument[]>
  /** Reads one page of a merchant's entries, oldest first. */
  listPage(query: EntryQuery): Promise<EntryDocument[]>
  /** The `seq` of the last batch whose entries are all in the projection. */
  projectedSequence(shard: number): Promise<bigint>
  /** Raises that number; never lowers it. */
  advanceProjectedSequence(shard: number, seq: bigint): Promise<void>
}

interface ProjectionProgress {
  readonly shard: number
  readonly seq: bigint
}

/** More than the entries that one batch can have, so that documents that do not belong there are read too. */
const BATCH_DOCUMENTS_MAX = 1_000

/** Opens the collections `entries` and `entries_progress`. */
export async function openEntries(store: Store): Promise<Entries> {
  const entries = await store.collection<EntryDocument>({
    name: 'entries',
    partition: ['shard'],
    key: ['shard', 'seq', 'position'],
    indexes: {
      by_merchant: { fields: ['shard', 'merchant_id', 'seq', 'position'] },
      by_payment: { fields: ['shard', 'merchant_id', 'payment_id', 'seq', 'position'], where: 'payment_id' },
    },
  })
  const progress = await store.collection<ProjectionProgress>({
    name: 'entries_progress',
    partition: ['shard'],
    key: ['shard'],
  })
  return createEntries(entries, progress)
}

function createEntries(
  entries: Collection<EntryDocument>,
  progress: Collection<ProjectionProgress>,
): Entries {
  return {
    async insert(document) {
      const { shard, seq, position } = document
      await insertOrGet(entries, { shard, seq, position }, document)
    },
    async overwrite(document) {
      const { shard, seq, position } = document
      await upsert(entries, { shard, seq, position }, () => document)
    },
    async remove({ shard, seq, position }) {
      const stored = await entries.get({ shard, seq, position })
      if (stored) await deleteUnchanged(entries, { shard, seq, position }, stored.version)
    },
    listBatch: (shard, seq) => entries.find('key', { equals: [shard, seq] }, { limit: BATCH_DOCUMENTS_MAX }),
    listPage({ shard, merchant_id, payment_id, after, limit }) {
      const last = after && { shard, merchant_id, payment_id, ...after }
      const options = last ? { limit, after: last } : { limit }
      return payment_id === undefined
        ? entries.find('by_merchant', { equals: [shard, merchant_id] }, options)
        : entries.find('by_payment', { equals: [shard, merchant_id, payment_id] }, options)
    },
    projectedSequence: async (shard) => (await progress.get({ shard }))?.seq ?? 0n,
    advanceProjectedSequence: (shard, seq) => advance(progress, { shard, seq }),
  }
}

/** The documents of a batch in the projection. */
export function entryDocuments({ shard, seq, time, entries }: Batch): EntryDocument[] {
  return entries.map((entry, position) => ({ ...entry, shard, seq, position, time }))
}

/** The recorded entry that a document of the projection stands for. */
export function recordedEntryOf({ shard, seq, time, position: _, ...entry }: EntryDocument): RecordedEntry {
  return { shard, seq, time, entry }
}
