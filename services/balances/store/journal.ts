import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { type FieldsOf, listOf, record, TEXT } from '#lib/base/stored-fields.ts'
import { clock } from '#lib/base/time.ts'
import { type AppendResult, appendResultOf } from '#lib/patterns/journal/commit-batch.ts'
import { isStub, type SignStub, signedTextOf } from '#lib/store/archive/archived-document.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import type { CollectionSpec, Store, Stored } from '#lib/store/store.ts'
import { counter, histogram } from '#lib/telemetry/metrics.ts'
import { type Batch, type Entry, type EntryKind, isListedKind } from '../domain/entry.ts'
import {
  assertUnaltered,
  BATCH_FORMATS,
  type BatchFormats,
  CorruptJournal,
  FORMAT_WITH_KINDS,
  hasOtherFormat,
  NewerBatchFormat,
  STORED_BATCH,
} from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'

/**
 * The journals of all shards: the only source of truth of the ledger. The key {shard, seq} is unique, so it is the
 * fence between processes that decide the same shard. The ids of the entries are unique per shard, so that each id has
 * one outcome, whatever a process remembers. Every read throws `NewerBatchFormat` when it meets a batch that this release
 * cannot read, and `ArchiveUnavailable` when it needs the content of an archived batch and the archive is away.
 */
export type Journal = Awaited<ReturnType<typeof openJournal>>

/**
 * Selects the entries of a merchant, or of one of its payments, and of those the ones of a currency and a kind. Without a payment
 * the kind is one of `isListedKind`, and batches before `FORMAT_WITH_KINDS` are left out.
 */
export interface Statement {
  readonly shard: number
  readonly merchant_id: string
  readonly payment_id?: string | undefined
  readonly currency?: string | undefined
  readonly kind?: EntryKind | undefined
}

/** The numbers of the batches to read. Both bounds are inclusive. */
export interface SequenceRange {
  readonly first: bigint
  /** Absent for the end of the journal. */
  readonly last?: bigint | undefined
}

/**
 * A stored batch with the lists that are indexed: the ids of its entries in their order, and the statements that its
 * entries belong to, each once. They follow from the entries, so the hash of the batch does not cover them. The signature
 * is over the position and the hash: whoever can write the database cannot make another journal, which anyone can hash.
 */
export interface JournalDocument extends Batch {
  readonly ids: readonly string[]
  readonly statements: readonly string[]
  readonly signature: string
}

/** A batch as it is stored, or why it is not verified. */
export type BatchVerification = { readonly seq: bigint } & (
  | { readonly batch: JournalDocument; readonly problem?: undefined }
  | { readonly batch?: undefined; readonly problem: string }
)

const STORED: FieldsOf<JournalDocument> = {
  ...STORED_BATCH,
  ids: listOf(TEXT),
  statements: listOf(TEXT),
  signature: TEXT,
}
const { entries: _entries, token: _token, ...KEPT } = STORED
/** Whether a document has the fields of a batch of this release. */
export const hasBatchForm = record(STORED).isValid
const hasStubForm = record(KEPT).isValid

/**
 * The collection of batches. What stays of an archived batch is its fence, the ids and statements that are indexed, its time, and what
 * proves its content: the signature proves the hash, and the hash its body, which is `entries` and `token`. The signature of the stub
 * proves what stays while the body is away: whoever can write the database cannot give a batch other ids that way.
 */
export const JOURNAL = {
  name: 'journal',
  partition: ['shard'],
  key: ['shard', 'seq'],
  ranges: SHARDS,
  indexes: {
    by_entry_id: { fields: ['shard', 'ids[]'], unique: true },
    by_statement: { fields: ['shard', 'statements[]'] },
    by_time: { fields: ['shard', 'time'] },
  },
  archive: { keeps: ['time', 'format', 'previous_hash', 'hash', 'signature', 'ids', 'statements'] },
} as const satisfies CollectionSpec

/** What the signature of a batch covers. */
export function signedHead({ shard, seq, hash }: Pick<Batch, 'shard' | 'seq' | 'hash'>): string {
  return `journal ${shard} ${seq} ${hash}`
}

/** Signs the stubs of archived batches. */
export function signStubsWith(signer: Pick<Signer, 'sign'>): SignStub {
  return (text) => signer.sign(signedStub(text))
}

function signedStub(text: string): string {
  return `stub ${text}`
}

/** Opens the collection `journal`. The formats differ from those of this release only in tests. */
export async function openJournal(
  store: Store,
  signer: Signer,
  { written, read_max }: BatchFormats = BATCH_FORMATS,
) {
  const { collection, listStored, batchOf, verify, tryVerify } = await openDocuments(store, signer, read_max)
  const lastSequence = async (shard: number): Promise<bigint> => {
    const options = { limit: 1, reverse: true, without_body: true }
    const [last] = await collection.find('key', { equals: [shard] }, options)
    return last?.seq ?? 0n
  }
  const firstSequenceFrom = async (shard: number, instant: Date): Promise<bigint | undefined> => {
    const options = { limit: 1, without_body: true }
    const [first] = await collection.find('by_time', { equals: [shard], from: instant }, options)
    if (first === undefined) return undefined
    // Times never go back. So when this batch and the one before it have their true times, no altered time hides a batch.
    const { seq } = verify(first)
    const before = await collection.get({ shard, seq: seq - 1n }, { without_body: true })
    if (before) verify(before)
    return seq
  }
  return {
    /** The format in which this process writes batches. */
    format: written,
    /** Inserts a batch at its position. Throws `Unavailable` only when it is certain that nothing was written. */
    async append(batch: Batch): Promise<AppendResult> {
      const document = { ...batch, ...indexedLists(batch), signature: signer.sign(signedHead(batch)) }
      // Under load many shards commit at a time, each a small batch.
      return await appendResultOf(collection.insert(document, { is_grouped: true }))
    },
    /** The batch at a position, by a linearizable read: an absent batch was not committed by any process before. */
    async getBatch(shard: number, seq: bigint): Promise<Batch | undefined> {
      const document = await collection.get({ shard, seq }, { linearizable: true })
      return document && batchOf(document)
    },
    /** The hash of the batch at a position, by a linearizable read. The hash of an archived batch is known without the archive. */
    async getHash(shard: number, seq: bigint): Promise<string | undefined> {
      const document = await collection.get({ shard, seq }, { linearizable: true, without_body: true })
      return document && verify(document).hash
    },
    /** Reads at most `limit` batches in order, starting with `seq`. */
    async listBatches(shard: number, seq: bigint, limit: number): Promise<Batch[]> {
      return (await collection.find('key', { equals: [shard], from: seq }, { limit })).map(batchOf)
    },
    /** At most `limit` batches in order, as they are stored, starting with `seq`. */
    listDocuments: async (shard: number, seq: bigint, limit: number): Promise<Stored<JournalDocument>[]> =>
      (await listStored(shard, seq, limit)).map(verify),
    /** The same, with the `problem` of each document that is not as it was written, or of a newer format, in place of its batch. */
    listVerified: async (shard: number, seq: bigint, limit: number): Promise<BatchVerification[]> =>
      (await listStored(shard, seq, limit)).map(tryVerify),
    /** The `seq` of the last batch, 0 when there is none. */
    lastSequence,
    /** The batches that contain an entry with this id: at most one, unless the store lost its unique index. */
    async findByEntryId(shard: number, entry_id: string, limit: number): Promise<Batch[]> {
      return (await collection.find('by_entry_id', { equals: [shard, entry_id] }, { limit })).map(batchOf)
    },
    /** Whether a batch has this id, or a stub that the ledger has signed. A whole batch is verified when it is read. */
    async hasEntryId(shard: number, entry_id: string): Promise<boolean> {
      const options = { limit: 1, without_body: true }
      const [document] = await collection.find('by_entry_id', { equals: [shard, entry_id] }, options)
      return document !== undefined && (!isStub(document) || isSigned(document, signer))
    },
    /**
     * Makes the next reads of a shard include every batch that was committed before the call: a linearizable read, after
     * which no former primary is asked any more.
     */
    async ensureCurrentReads(shard: number): Promise<void> {
      await collection.get({ shard, seq: 0n }, { linearizable: true })
    },
    /** The `seq` of the first batch that was not decided before an instant; `undefined` when there is none. */
    firstSequenceFrom,
    /** The `seq` of the last batch that was decided before an instant, 0 when there is none. */
    async lastSequenceBefore(shard: number, instant: Date): Promise<bigint> {
      // Before the other read, so that a batch which is committed between them is not counted.
      const last = await lastSequence(shard)
      const first = await firstSequenceFrom(shard, instant)
      return first === undefined ? last : first - 1n
    },
    /**
     * At most `limit` batches of a range with entries of a statement, in order, or from the last one back. Fewer than
     * `limit` are the rest of the range.
     */
    async listStatementBatches(
      statement: Statement,
      { first, last }: SequenceRange,
      { limit, reverse = false }: { readonly limit: number; readonly reverse?: boolean },
    ): Promise<Batch[]> {
      const { shard } = statement
      const equals = [shard, statementKey(statement)]
      const before_first = reverse ? last && last + 1n : first - 1n
      const after = before_first === undefined ? undefined : { shard, seq: before_first }
      const found = await collection.find('by_statement', { equals }, { limit, reverse, after })
      return found.filter(({ seq }) => seq >= first && (last === undefined || seq <= last)).map(batchOf)
    },
  }
}

/** The documents, and what verifies them: it throws `CorruptJournal` for a document that neither the ledger nor `archive` wrote. */
async function openDocuments(store: Store, signer: Signer, read_max: number) {
  const verifyStub = (stub: object): void => assertSigned(stub as JournalDocument, signer)
  const batchOf = (document: JournalDocument): Batch => batchFrom(document, signer, read_max)
  const archive = { ...JOURNAL.archive, verifyStub }
  /** The document as it is stored: a batch, or a stub without its body. */
  const verify = <D extends JournalDocument>(document: D): D => {
    if (isStub(document)) assertSigned(document, signer)
    else batchOf(document)
    return document
  }
  const collection = await store.collection<JournalDocument>({ ...JOURNAL, archive })
  return {
    collection,
    listStored: (shard: number, seq: bigint, limit: number) =>
      collection.find('key', { equals: [shard], from: seq }, { limit, without_body: true }),
    batchOf,
    verify,
    tryVerify(document: JournalDocument): BatchVerification {
      try {
        return { seq: document.seq, batch: verify(document) }
      } catch (error) {
        if (!(error instanceof CorruptJournal || error instanceof NewerBatchFormat)) throw error
        return { seq: document.seq, problem: error.message }
      }
    },
  }
}

/** Ids have no control characters and are not empty, so the keys of different statements differ. */
function statementKey({ merchant_id, payment_id, currency, kind }: Omit<Statement, 'shard'>): string {
  if (payment_id !== undefined) return `${merchant_id}\n${payment_id}`
  if (kind !== undefined) return `${merchant_id}\n\n${currency ?? ''}\n${kind}`
  return currency === undefined ? merchant_id : `${merchant_id}\n\n${currency}`
}

function indexedLists({ format, entries }: Batch): Pick<JournalDocument, 'ids' | 'statements'> {
  const statements = new Set<string>()
  let last: Entry | undefined
  for (const entry of entries) {
    const { merchant_id, payment_id, currency, kind } = entry
    // A busy merchant has many entries in a row. Their common keys are made once.
    if (last?.merchant_id !== merchant_id || last.currency !== currency) {
      statements.add(statementKey({ merchant_id }))
      // The entry of an early release has no currency.
      if (currency !== '') statements.add(statementKey({ merchant_id, currency }))
    }
    if (payment_id !== undefined) statements.add(statementKey({ merchant_id, payment_id }))
    if (format >= FORMAT_WITH_KINDS && isListedKind(kind)) {
      statements.add(statementKey({ merchant_id, kind }))
      statements.add(statementKey({ merchant_id, currency, kind }))
    }
    last = entry
  }
  return { ids: entries.map(({ id }) => id), statements: [...statements] }
}

/** The batch of a document. Throws `CorruptJournal` for one that is not as a release of a known format wrote it. */
function batchFrom(document: JournalDocument, signer: Signer, read_max: number): Batch {
  const { ids, statements, signature, ...batch } = document
  const { shard, seq, format } = batch
  if (isStub(document)) {
    assertSigned(document, signer)
    throw new ArchiveUnavailable('of a batch', 'the journal was opened without an archive')
  }
  // A newer format may have other fields, so its documents are not checked further.
  if (Number.isSafeInteger(document.format) && document.format > read_max) {
    if (!hasBatchForm(document) || !hasOtherFormat(document, read_max))
      throw new NewerBatchFormat(shard, seq, format)
    throw new CorruptJournal(`shard ${shard}: the format of batch ${seq} does not match its hash`)
  }
  if (!hasBatchForm(document))
    throw new CorruptJournal(`shard ${shard}: batch ${seq} does not have the form of a batch`)
  assertSigned(document, signer)
  // Here, for every read: a statement and the answer to a repeated id come from one batch, not from a replay of the chain.
  assertUnaltered(batch)
  const expected = indexedLists(batch)
  if (!isSameList(ids, expected.ids) || !isSameList(statements, expected.statements))
    throw new CorruptJournal(`shard ${shard}: the indexed lists of batch ${seq} do not match its entries`)
  return batch
}

/** Throws `CorruptJournal` unless the document is signed. */
function assertSigned(document: JournalDocument, signer: Signer): void {
  if (isSigned(document, signer)) return
  const { shard, seq } = document
  const { signature } = signedPartOf(document)
  throw new CorruptJournal(
    `shard ${shard}: batch ${seq} was not signed with a key of the ledger (${keyIdOfSignature(signature)}): set the key with this id, or its derived key of the purpose journal; if it is set, the batch was altered`,
  )
}

/** Whether a key of the ledger has signed a batch, or what stays of it in its stub. Of a batch this does not prove the entries. */
export function isSigned(document: JournalDocument, signer: Signer): boolean {
  const { text, signature } = signedPartOf(document)
  return signer.verify(text, signature)
}

/**
 * The signature of a document, and what it must cover. A stub without the fields of a batch has no signature: an object has the same
 * text as a time, and another place in the index.
 */
function signedPartOf(document: JournalDocument): { readonly text: string; readonly signature: string } {
  if (!isStub(document)) return { text: signedHead(document), signature: document.signature }
  const { text, signature } = signedTextOf(document)
  return { text: signedStub(text), signature: hasStubForm(document) ? signature : '' }
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at])
}

const commit_seconds = histogram(
  'multihub_ledger_commit_seconds',
  'Duration of inserts of batches into the ledger journal, by result.',
  ['result'],
)

const entries_total = counter(
  'multihub_ledger_entries_total',
  'Ledger entries that this process committed, refusals included.',
)

/**
 * Wraps a journal so that its inserts are measured. Many results `occupied` mean that several processes decide the
 * same shards and contend for them.
 */
export function withJournalMetrics(journal: Journal): Journal {
  return {
    ...journal,
    async append(batch) {
      const began_ms = clock.monotonic_ms()
      let result: AppendResult | 'failed' = 'failed'
      try {
        result = await journal.append(batch)
        if (result === 'appended') entries_total.increment({}, batch.entries.length)
        return result
      } finally {
        commit_seconds.observe({ result }, (clock.monotonic_ms() - began_ms) / 1000)
      }
    },
  }
}
