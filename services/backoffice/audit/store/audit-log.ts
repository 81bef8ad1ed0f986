import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { listOf, record, TEXT } from '#lib/base/stored-fields.ts'
import { type AppendResult, appendResultOf } from '#lib/patterns/journal/commit-batch.ts'
import { upsert } from '#lib/patterns/update.ts'
import type { CollectionSpec, Range, Store, Stored } from '#lib/store/store.ts'
import {
  type AuditBatch,
  type AuditHead,
  CHAIN,
  EMPTY_HEAD,
  follows,
  indexedLists,
  isUnaltered,
  STORED_BATCH,
  signedHead,
} from '../domain/audit-chain.ts'
import { type AuditRecord, type RecordName, recordId } from '../domain/audit-record.ts'

/** The stored audit trail. */
export type AuditLog = Awaited<ReturnType<typeof openAuditLog>>

/** A stored batch. `is_sound`: as a holder of the keys wrote it. A document that has not the form of a batch has no records. */
export interface ReadBatch {
  readonly seq: bigint
  readonly time: Date
  readonly records: readonly AuditRecord[]
  readonly is_sound: boolean
}

/** A batch with its place in the chain: `is_sound` also says that it follows the batch before. */
export interface CheckedBatch extends ReadBatch {
  /** The batch itself, which the next one follows. */
  readonly head: AuditHead
  /** The key without which nobody can say whether the batch is sound: the key of the batch, or of the batch before. */
  readonly missing_key_id: string | undefined
}

interface AuditDocument extends AuditBatch {
  readonly record_ids: readonly string[]
  readonly filter_keys: readonly string[]
  /** The signature, and after a change of the key also one under the key of the batch before (O9). */
  readonly signatures: readonly string[]
}

const hasForm = record<AuditDocument>({
  ...STORED_BATCH,
  record_ids: listOf(TEXT),
  filter_keys: listOf(TEXT),
  signatures: listOf(TEXT),
}).isValid

/** The collection of batches. Nothing in it is ever changed or deleted. */
export const AUDIT: CollectionSpec = {
  name: 'audit',
  partition: ['chain'],
  key: ['chain', 'seq'],
  indexes: {
    by_record_id: { fields: ['chain', 'record_ids[]'], unique: true },
    by_filter: { fields: ['chain', 'filter_keys[]'] },
    by_time: { fields: ['chain', 'time'] },
  },
}

/** How far every intent has an outcome. It only spares the reading of older batches. */
interface CompletedMark {
  readonly name: string
  readonly seq: bigint
}

const COMPLETED = { name: 'completed' }

/** The numbers of the batches to read, both inclusive. */
export interface BatchRange {
  readonly first: bigint
  readonly last?: bigint | undefined
}

/** Opens the collections `audit_marks` and `audit`. `signer` has the keys of the purpose `audit`. */
export async function openAuditLog(store: Store, signer: Signer) {
  const mark = await openMark(store)
  const collection = await store.collection<AuditDocument>(AUDIT)
  const read = (document: Stored<AuditDocument>): ReadBatch => readBatch(document, signer)
  const oneAt = async (range: Range, reverse = false): Promise<AuditDocument | undefined> =>
    (await collection.find('by_time', range, { limit: 1, reverse }))[0]
  async function findWithBatch(wanted: RecordName) {
    const id = recordId(wanted)
    const [found] = await collection.find('by_record_id', { equals: [CHAIN, id] }, { limit: 1 })
    const batch = found && read(found)
    const record = batch?.records.find((one) => recordId(one) === id)
    return batch && record && { record, batch }
  }

  return {
    /** The end of the chain, whatever state it is in: a damaged chain goes on, and `verify` reports the damage. */
    async readHead(): Promise<AuditHead> {
      const [last] = await collection.find(
        'key',
        { equals: [CHAIN] },
        { limit: 1, reverse: true, linearizable: true },
      )
      return last === undefined ? EMPTY_HEAD : headOf(last)
    },
    /** Inserts the batch that follows a head. Throws only when it is certain that nothing was written. */
    append: (batch: AuditBatch, { key_id }: AuditHead): Promise<AppendResult> =>
      appendResultOf(
        collection.insert({
          ...batch,
          ...indexedLists(batch.records),
          signatures: signaturesOf(batch, key_id, signer),
        }),
      ),
    /** What has the position of a batch, by a linearizable read. */
    readPosition: ({ seq }: Pick<AuditBatch, 'seq'>): Promise<AuditBatch | undefined> =>
      collection.get({ chain: CHAIN, seq }, { linearizable: true }),
    /** The record of an act of one kind. */
    findRecord: async (wanted: RecordName): Promise<AuditRecord | undefined> =>
      (await findWithBatch(wanted))?.record,
    /** The same, with its batch. */
    findWithBatch,
    /** At most `limit` batches of a range with an entry of a filter's key, or all of them; the newest first. */
    async listNewest(
      key: string | undefined,
      { first, last }: BatchRange,
      limit: number,
    ): Promise<ReadBatch[]> {
      const after = last === undefined ? undefined : { chain: CHAIN, seq: last + 1n }
      const options = { limit, after, reverse: true }
      const found =
        key === undefined
          ? await collection.find('key', { equals: [CHAIN] }, options)
          : await collection.find('by_filter', { equals: [CHAIN, key] }, options)
      return found.filter(({ seq }) => seq >= first).map(read)
    },
    /** At most `limit` batches in order, from `seq` on. */
    async listFrom(seq: bigint, limit: number): Promise<ReadBatch[]> {
      return (await collection.find('key', { equals: [CHAIN], from: seq }, { limit })).map(read)
    },
    /** The same, each with whether it also continues the chain after the one before; `head` is the one before the first. */
    async listChecked(head: AuditHead, limit: number): Promise<CheckedBatch[]> {
      const range = { equals: [CHAIN], from: head.seq + 1n }
      const key_ids = ['', ...signer.signWithEach('').map(keyIdOfSignature)]
      let previous = head
      return (await collection.find('key', range, { limit })).map((document) => {
        const checked = read(document)
        const is_sound =
          checked.is_sound && follows(previous, document) && isSignedByBoth(document, previous.key_id, signer)
        const needed = [headOf(document).key_id, previous.key_id]
        previous = headOf(document)
        const missing_key_id = needed.find((id) => !key_ids.includes(id))
        return { ...checked, is_sound, head: previous, missing_key_id }
      })
    },
    /** The `seq` of the first batch from an instant on; `undefined` without one. */
    async firstSequenceFrom(instant: Date): Promise<bigint | undefined> {
      return (await oneAt({ equals: [CHAIN], from: instant }))?.seq
    },
    /** The `seq` of the last batch before an instant, 0 without one. */
    async lastSequenceBefore(instant: Date): Promise<bigint> {
      return (await oneAt({ equals: [CHAIN], to: instant }, true))?.seq ?? 0n
    },
    ...mark,
  }
}

async function openMark(store: Store) {
  const marks = await store.collection<CompletedMark>({
    name: 'audit_marks',
    partition: ['name'],
    key: ['name'],
  })
  return {
    /** The batch up to which every intent has an outcome. */
    async getCompleted(): Promise<bigint> {
      return (await marks.get(COMPLETED))?.seq ?? 0n
    },
    /** Moves that mark on, never back. */
    async setCompleted(seq: bigint): Promise<void> {
      await upsert(marks, COMPLETED, (current) =>
        current !== undefined && current.seq >= seq ? undefined : { ...COMPLETED, seq },
      )
    },
  }
}

/** A damaged document has what it can give: the chain must go on after it. */
function headOf({ seq, time, hash, signatures }: AuditDocument): AuditHead {
  const [signature] = Array.isArray(signatures) ? signatures : []
  return {
    seq,
    time_ms: time instanceof Date ? time.getTime() : 0,
    hash: typeof hash === 'string' ? hash : '',
    key_id: typeof signature === 'string' ? keyIdOfSignature(signature) : '',
  }
}

function signaturesOf(batch: AuditBatch, previous_key_id: string, signer: Signer): string[] {
  const [active, ...others] = signer.signWithEach(signedHead(batch))
  if (keyIdOfSignature(active) === previous_key_id) return [active]
  return [active, ...others.filter((signature) => keyIdOfSignature(signature) === previous_key_id)]
}

/** Whether a batch with another key than the one before was signed with that one too, so that no stolen new key suffices. */
function isSignedByBoth(
  { seq, hash, signatures }: AuditDocument,
  previous_key_id: string,
  signer: Signer,
): boolean {
  const [first = '', second = ''] = signatures
  if (previous_key_id === '' || keyIdOfSignature(first) === previous_key_id) return true
  return keyIdOfSignature(second) === previous_key_id && signer.verify(signedHead({ seq, hash }), second)
}

function readBatch(document: Stored<AuditDocument>, signer: Signer): ReadBatch {
  const { version: _version, ...batch } = document
  const { seq, time } = batch
  if (!hasForm(batch))
    return { seq, time: time instanceof Date ? time : new Date(0), records: [], is_sound: false }
  const { records, signatures } = batch
  const [signature = ''] = signatures
  const lists = indexedLists(records)
  const is_sound =
    signer.verify(signedHead(batch), signature) &&
    isUnaltered(batch) &&
    isSameList(batch.record_ids, lists.record_ids) &&
    isSameList(batch.filter_keys, lists.filter_keys)
  return { seq, time, records, is_sound }
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at])
}
