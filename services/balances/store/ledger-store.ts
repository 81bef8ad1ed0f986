import { upsert } from '#lib/patterns/update.ts'
import { Ambiguous, Conflict, Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection, Fields, Store } from '#lib/platform/store/port.ts'
import type { Hold } from '../domain/apply-entry.ts'
import type { Batch, Entry, RecordedEntry } from '../domain/entry.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'

/** The fate of an insert into the journal: `taken`: that place holds a batch. `unsure`: it may hold ours. */
export type AppendResult = 'appended' | 'taken' | 'unsure'

/** The logs of all shards, which alone say what is. */
export interface Journal {
  /** Inserts a batch at its place. Throws `Unavailable` when it is certain that nothing was written. */
  append(batch: Batch): Promise<AppendResult>
  getBatch(shard: number, seq: bigint): Promise<Batch | undefined>
  /** The batches from `seq` on, in order. */
  listBatches(shard: number, seq: bigint, limit: number): Promise<Batch[]>
  /** The number of the last batch, 0 when there is none. */
  lastSequence(shard: number): Promise<bigint>
  /** The batches that hold an entry with this id: one at most, unless something is broken. */
  findByEntryId(shard: number, entry_id: string, limit: number): Promise<Batch[]>
}

/** The beginning of a checkpoint; its rows lie in parts. */
export interface CheckpointHead {
  readonly shard: number
  readonly seq: bigint
  readonly time: Date
  readonly hash: string
  readonly parts: number
}

/** A share of the rows of a checkpoint. */
export interface CheckpointPart {
  readonly shard: number
  readonly seq: bigint
  readonly part: number
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
}

/** Where checkpoints are kept, one a shard and for a moment two. */
export interface Checkpoints {
  getHead(shard: number): Promise<CheckpointHead | undefined>
  getPart(shard: number, seq: bigint, part: number): Promise<CheckpointPart | undefined>
  insertPart(part: CheckpointPart): Promise<void>
  /** Makes this the shard's checkpoint unless a later one is there. */
  advanceHead(head: CheckpointHead): Promise<void>
  /** Deletes parts of batches before `seq`; a limited number a call, and answers whether there are more. */
  deletePartsBefore(shard: number, seq: bigint): Promise<boolean>
  deleteHead(shard: number): Promise<void>
}

/** One entry as statements read it. `position` counts within the batch, from 0. */
export interface EntryDocument extends Entry {
  readonly shard: number
  readonly seq: bigint
  readonly position: number
  readonly time: Date
}

/** Which entries to read: of a merchant, or of one payment of it, after a place in that order. */
export interface EntryQuery {
  readonly shard: number
  readonly merchant_id: string
  readonly payment_id?: string | undefined
  readonly after?: { readonly seq: bigint; readonly position: number } | undefined
  readonly limit: number
}

/** The projection of one document an entry. */
export interface Entries {
  /** Adds the entry; one that is there already stays as it is. */
  insert(document: EntryDocument): Promise<void>
  /** Makes the document equal to this one, whatever is there. */
  overwrite(document: EntryDocument): Promise<void>
  /** Deletes what is at a place of a batch. */
  remove(place: Pick<EntryDocument, 'shard' | 'seq' | 'position'>): Promise<void>
  /** Everything that stands under one batch. */
  listBatch(shard: number, seq: bigint): Promise<EntryDocument[]>
  listPage(query: EntryQuery): Promise<EntryDocument[]>
  /** The number of the last batch that is completely in the projection. */
  projectedSequence(shard: number): Promise<bigint>
  /** Moves that number up, never down. */
  advanceProjectedSequence(shard: number, seq: bigint): Promise<void>
}

/** Which process a shard's commands should go to, by the address that it is reached by. */
export interface ShardLease {
  readonly shard: number
  readonly address: string
  readonly expires_at: Date
}

/** The leases, under guards: each write says which state of the document it was decided on. */
export interface ShardLeases {
  get(shard: number): Promise<(ShardLease & { readonly version: number }) | undefined>
  /** Answers the version of the lease, or `undefined` when another process was faster. */
  put(lease: ShardLease, version: number | undefined): Promise<number | undefined>
  remove(shard: number, version: number): Promise<void>
}

/** Everything that the ledger keeps. */
export interface LedgerStore {
  readonly journal: Journal
  readonly checkpoints: Checkpoints
  readonly entries: Entries
  readonly leases: ShardLeases
}

interface ProjectionProgress {
  readonly shard: number
  readonly seq: bigint
}

const DELETES_MAX = 100

/** Opens the ledger's collections. The journal's place {shard, seq} is unique: it is the fence between processes. */
export async function openLedgerStore(store: Store): Promise<LedgerStore> {
  const journal = await store.collection<JournalDocument>({
    name: 'journal',
    partition: ['shard'],
    key: ['shard', 'seq'],
    indexes: { by_entry_id: { fields: ['shard', 'ids[]'] } },
  })
  const heads = await store.collection<CheckpointHead>({
    name: 'checkpoints',
    partition: ['shard'],
    key: ['shard'],
  })
  const parts = await store.collection<CheckpointPart>({
    name: 'checkpoint_parts',
    partition: ['shard'],
    key: ['shard', 'seq', 'part'],
  })
  const entries = await store.collection<EntryDocument>({
    name: 'entries',
    partition: ['shard'],
    key: ['shard', 'seq', 'position'],
    indexes: {
      by_merchant: { fields: ['shard', 'merchant_id', 'seq', 'position'] },
      by_payment: { fields: ['shard', 'merchant_id', 'payment_id', 'seq', 'position'], where: 'payment_id' },
    },
  })
  const reflected = await store.collection<ProjectionProgress>({
    name: 'entries_reflected',
    partition: ['shard'],
    key: ['shard'],
  })
  const leases = await store.collection<ShardLease>({ name: 'leases', partition: ['shard'], key: ['shard'] })
  return {
    journal: createJournal(journal),
    checkpoints: createCheckpoints(heads, parts),
    entries: createEntries(entries, reflected),
    leases: createLeases(leases),
  }
}

/** A batch as it is stored: with the ids of its entries, in their order, because an index needs them apart. */
interface JournalDocument extends Batch {
  readonly ids: readonly string[]
}

function batchOf(document: JournalDocument): Batch {
  const { ids, entries, shard, seq } = document
  if (ids.length !== entries.length || entries.some(({ id }, at) => id !== ids[at])) {
    throw new CorruptJournal(`shard ${shard}: batch ${seq} has other ids than its entries`)
  }
  return document
}

function createJournal(collection: Collection<JournalDocument>): Journal {
  return {
    async append(batch) {
      try {
        await collection.insert({ ...batch, ids: batch.entries.map(({ id }) => id) })
        return 'appended'
      } catch (error) {
        if (error instanceof Duplicate) return 'taken'
        if (error instanceof Ambiguous) return 'unsure'
        throw error
      }
    },
    async getBatch(shard, seq) {
      const document = await collection.get({ shard, seq })
      return document && batchOf(document)
    },
    async listBatches(shard, seq, limit) {
      return (await collection.find('key', { equals: [shard], from: seq }, { limit })).map(batchOf)
    },
    async lastSequence(shard) {
      const [last] = await collection.find('key', { equals: [shard] }, { limit: 1, reverse: true })
      return last?.seq ?? 0n
    },
    async findByEntryId(shard, entry_id, limit) {
      return (await collection.find('by_entry_id', { equals: [shard, entry_id] }, { limit })).map(batchOf)
    },
  }
}

function createCheckpoints(
  heads: Collection<CheckpointHead>,
  parts: Collection<CheckpointPart>,
): Checkpoints {
  return {
    getHead: (shard) => heads.get({ shard }),
    getPart: (shard, seq, part) => parts.get({ shard, seq, part }),
    insertPart: (part) => insertOnce(parts, part),
    advanceHead: (head) => raise(heads, head),
    async deletePartsBefore(shard, seq) {
      const old = await parts.find('key', { equals: [shard], to: seq }, { limit: DELETES_MAX })
      await Promise.all(old.map(({ part, seq, version }) => deleteOnce(parts, { shard, seq, part }, version)))
      return old.length === DELETES_MAX
    },
    async deleteHead(shard) {
      const head = await heads.get({ shard })
      if (head) await deleteOnce(heads, { shard }, head.version)
    },
  }
}

function createEntries(
  entries: Collection<EntryDocument>,
  reflected: Collection<ProjectionProgress>,
): Entries {
  return {
    insert: (document) => insertOnce(entries, document),
    async overwrite(document) {
      const { shard, seq, position } = document
      await upsert(entries, { shard, seq, position }, () => document)
    },
    async remove({ shard, seq, position }) {
      const there = await entries.get({ shard, seq, position })
      if (there) await deleteOnce(entries, { shard, seq, position }, there.version)
    },
    listBatch: (shard, seq) => entries.find('key', { equals: [shard, seq] }, { limit: 1_000 }),
    listPage({ shard, merchant_id, payment_id, after, limit }) {
      const place = after && { shard, merchant_id, payment_id, ...after }
      const options = place ? { limit, after: place } : { limit }
      return payment_id === undefined
        ? entries.find('by_merchant', { equals: [shard, merchant_id] }, options)
        : entries.find('by_payment', { equals: [shard, merchant_id, payment_id] }, options)
    },
    projectedSequence: async (shard) => (await reflected.get({ shard }))?.seq ?? 0n,
    advanceProjectedSequence: (shard, seq) => raise(reflected, { shard, seq }),
  }
}

function createLeases(leases: Collection<ShardLease>): ShardLeases {
  return {
    get: (shard) => leases.get({ shard }),
    async put(lease, version) {
      try {
        const stored =
          version === undefined ? await leases.insert(lease) : await leases.replace(lease, version)
        return stored.version
      } catch (error) {
        if (error instanceof Duplicate || error instanceof Conflict) return undefined
        throw error
      }
    },
    remove: (shard, version) => deleteOnce(leases, { shard }, version),
  }
}

/** Puts a document that says how far a shard was followed, unless one that goes as far is there. */
async function raise<D extends ProjectionProgress>(collection: Collection<D>, document: D): Promise<void> {
  await upsert(collection, { shard: document.shard }, (current) =>
    current && current.seq >= document.seq ? undefined : document,
  )
}

async function insertOnce<D extends object>(collection: Collection<D>, document: D): Promise<void> {
  try {
    await collection.insert(document)
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error
  }
}

async function deleteOnce<D extends object>(
  collection: Collection<D>,
  key: Fields,
  version: number,
): Promise<void> {
  try {
    await collection.delete(key, version)
  } catch (error) {
    if (!(error instanceof Conflict)) throw error
  }
}

/** The documents that a batch has in the projection. */
export function entryDocuments({ shard, seq, time, entries }: Batch): EntryDocument[] {
  return entries.map((entry, position) => ({ ...entry, shard, seq, position, time }))
}

/** An entry of the projection as the journal gave it. */
export function recordedEntryOf({ shard, seq, time, position: _, ...entry }: EntryDocument): RecordedEntry {
  return { shard, seq, time, entry }
}
