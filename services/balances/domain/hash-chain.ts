import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { BATCH_FORMAT, type Batch, type BatchPosition, type Entry } from './entry.ts'

/** Where a shard's log ends: the batch that the next one follows. */
export interface JournalHead {
  readonly seq: bigint
  /** The time of the last batch; no later batch has an earlier one. */
  readonly time_ms: number
  readonly hash: string
}

/** The head of a log without a batch. */
export const EMPTY_JOURNAL: JournalHead = { seq: 0n, time_ms: 0, hash: '' }

/** A journal that contradicts itself. Nothing is decided on top of it: a person has to look. */
export class CorruptJournal extends Error {
  override readonly name = 'BrokenJournal'
}

/** Makes a batch of decided entries, ready for the one insert that commits it. */
export function sealBatch(at: BatchPosition, previous_hash: string, entries: readonly Entry[]): Batch {
  const content = { ...at, format: BATCH_FORMAT, token: randomHex(16), entries, previous_hash }
  return { ...content, hash: hashOf(content) }
}

/** Throws `BrokenJournal` unless the batch is the one that follows `head`, unaltered. */
export function assertFollows(head: JournalHead, batch: Batch): void {
  const place = `shard ${batch.shard}: batch ${batch.seq}`
  if (batch.format !== BATCH_FORMAT)
    throw new CorruptJournal(`${place} is not to be read: its format ${batch.format} is not known`)
  if (batch.seq !== head.seq + 1n) throw new CorruptJournal(`${place} comes after batch ${head.seq}`)
  if (batch.previous_hash !== head.hash)
    throw new CorruptJournal(`${place} does not continue the chain of hashes`)
  if (batch.hash !== hashOf(batch)) throw new CorruptJournal(`${place} is not what was hashed`)
  if (batch.time.getTime() < head.time_ms)
    throw new CorruptJournal(`${place} is of an earlier time than the last`)
}

/** The fields in a fixed order and as JSON, so that the hash depends on no store's way of keeping a document. */
function hashOf({ format, shard, seq, time, token, previous_hash, entries }: Omit<Batch, 'hash'>): string {
  const lines = [JSON.stringify([format, shard, String(seq), time.getTime(), token, previous_hash])]
  for (const entry of entries) lines.push(lineOf(entry))
  return sha256Hex(lines.join('\n'))
}

function lineOf(entry: Entry): string {
  return JSON.stringify([
    entry.id,
    entry.kind,
    entry.merchant_id,
    entry.currency,
    entry.debit,
    entry.credit,
    String(entry.amount),
    entry.payment_id ?? null,
    entry.reason,
    entry.refused_code ?? null,
    String(entry.available),
    String(entry.held),
  ])
}
