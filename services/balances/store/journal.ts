import { Ambiguous, Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'

/**
 * The result of an insert into the journal. `occupied`: a batch has this position already, perhaps this very one.
 * `repeated_id`: a batch contains one of the ids already, perhaps this very one. `unknown`: the insert may or may not
 * have happened.
 */
export type AppendResult = 'appended' | 'occupied' | 'repeated_id' | 'unknown'

/**
 * The journals of all shards: the only source of truth of the ledger. The key {shard, seq} is unique, so it is the
 * fence between processes that decide the same shard. The ids of the entries are unique per shard, so that each id has
 * one outcome, whatever a process remembers.
 */
export interface Journal {
  /** Inserts a batch at its position. Throws `Unavailable` only when it is certain that nothing was written. */
  append(batch: Batch): Promise<AppendResult>
  /** The batch at a position, by a linearizable read: an absent batch was not committed by any process before. */
  getBatch(shard: number, seq: bigint): Promise<Batch | undefined>
  /** Reads at most `limit` batches in order, starting with `seq`. */
  listBatches(shard: number, seq: bigint, limit: number): Promise<Batch[]>
  /** The `seq` of the last batch, 0 when there is none. */
  lastSequence(shard: number): Promise<bigint>
  /** The batches that contain an entry with this id: at most one, unless the store lost its unique index. */
  findByEntryId(shard: number, entry_id: string, limit: number): Promise<Batch[]>
}

/** A stored batch, with the ids of its entries in their order, because the index needs them as a list of their own. */
interface JournalDocument extends Batch {
  readonly ids: readonly string[]
}

/** Opens the collection `journal`. */
export async function openJournal(store: Store): Promise<Journal> {
  return createJournal(
    await store.collection<JournalDocument>({
      name: 'journal',
      partition: ['shard'],
      key: ['shard', 'seq'],
      indexes: { by_entry_id: { fields: ['shard', 'ids[]'], unique: true } },
    }),
  )
}

function createJournal(collection: Collection<JournalDocument>): Journal {
  return {
    async append(batch) {
      try {
        await collection.insert({ ...batch, ids: batch.entries.map(({ id }) => id) })
        return 'appended'
      } catch (error) {
        if (error instanceof Duplicate) return error.index === 'key' ? 'occupied' : 'repeated_id'
        if (error instanceof Ambiguous) return 'unknown'
        throw error
      }
    },
    async getBatch(shard, seq) {
      const document = await collection.get({ shard, seq }, { linearizable: true })
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

function batchOf(document: JournalDocument): Batch {
  const { ids, entries, shard, seq } = document
  if (ids.length !== entries.length || entries.some(({ id }, index) => id !== ids[index])) {
    throw new CorruptJournal(`shard ${shard}: the id list of batch ${seq} does not match its entries`)
  }
  return document
}
