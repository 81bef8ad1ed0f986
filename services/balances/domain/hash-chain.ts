import { sha256Hex } from '#lib/base/crypto/hash.ts'
import {
  added,
  BIGINT,
  type FieldsOf,
  INTEGER,
  listOf,
  optional,
  record,
  TEXT,
  TIME,
} from '#lib/base/stored-fields.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Batch, BatchPosition, Entry } from './entry.ts'
import { STORED_COUNT } from './rows.ts'

/** The end of a shard's journal: the batch that the next one must follow. */
export interface JournalHead {
  readonly seq: bigint
  /** The time of the last batch; no later batch has an earlier time. */
  readonly time_ms: number
  readonly hash: string
}

/** The head of a journal without batches. */
export const EMPTY_JOURNAL: JournalHead = { seq: 0n, time_ms: 0, hash: '' }

/**
 * The journal is not what the ledger wrote: altered or incomplete. The ledger stops deciding for the shard; the operator
 * must investigate.
 */
export class CorruptJournal extends Error {
  override readonly name = 'CorruptJournal'
}

/**
 * The position of the batch that follows a head. Its time never goes back: after a batch of a clock that was ahead,
 * batches have that time until the clock reaches it.
 */
export function nextPosition(shard: number, { seq, time_ms }: JournalHead, now_ms: number): BatchPosition {
  return { shard, seq: seq + 1n, time: new Date(Math.max(now_ms, time_ms)) }
}

/**
 * Makes a batch of decided entries, ready for the insert that commits it. The caller makes `token` at random and
 * recognizes its own batch by it when the response to the insert is lost.
 */
export function sealBatch(
  position: BatchPosition,
  previous_hash: string,
  entries: readonly Entry[],
  token: string,
  format = BATCH_FORMATS.written,
): Batch {
  const content = { ...position, format, token, entries, previous_hash }
  return { ...content, hash: hashOf(content) }
}

/** Throws `CorruptJournal` when a batch has another content than the one it was hashed with. */
export function assertUnaltered(batch: Batch): void {
  if (batch.hash !== hashOf(batch))
    throw new CorruptJournal(
      `shard ${batch.shard}: batch ${batch.seq} does not match its hash; its content was altered`,
    )
}

/** Throws `CorruptJournal` unless a batch, which the journal has read and found unaltered, directly follows `head`. */
export function assertFollows(head: JournalHead, batch: Batch): void {
  const name = `shard ${batch.shard}: batch ${batch.seq}`
  if (batch.seq !== head.seq + 1n)
    throw new CorruptJournal(`${name} was found where batch ${head.seq + 1n} must follow`)
  if (batch.previous_hash !== head.hash)
    throw new CorruptJournal(
      `${name} does not continue the hash chain; it or the batch before it was altered`,
    )
  if (batch.time.getTime() < head.time_ms)
    throw new CorruptJournal(`${name} has an earlier time than the batch before it`)
}

/**
 * Whether the hash of a batch fits the same content with a format up to `format_max`. Then it was written in that
 * format, and only the number was altered. The batch must have the form of those formats.
 */
export function hasOtherFormat(batch: Batch, format_max: number): boolean {
  const known = Array.from({ length: format_max }, (_, index) => index + 1)
  return known.some((format) => hashOf({ ...batch, format }) === batch.hash)
}

/** How a stored entry is checked and hashed. WARNING: the order of the fields is part of every hash; a new one is `added`. */
const STORED_ENTRY = record<Entry>({
  id: TEXT,
  kind: TEXT,
  merchant_id: TEXT,
  currency: TEXT,
  debit: TEXT,
  credit: TEXT,
  amount: BIGINT,
  payment_id: optional(TEXT),
  reason: TEXT,
  refused_code: optional(INTEGER),
  available: BIGINT,
  held: BIGINT,
  counted: optional(record(STORED_COUNT)),
  period: optional(INTEGER),
  audit_id: added(TEXT),
})

/** How the fields of a stored batch are checked. */
export const STORED_BATCH: FieldsOf<Batch> = {
  shard: INTEGER,
  seq: BIGINT,
  time: TIME,
  format: INTEGER,
  token: TEXT,
  entries: listOf(STORED_ENTRY),
  previous_hash: TEXT,
  hash: TEXT,
}

/** Hashes the fields in a fixed order and as JSON, so that the hash does not depend on how a store keeps documents. */
function hashOf({ format, shard, seq, time, token, previous_hash, entries }: Omit<Batch, 'hash'>): string {
  const lines = [JSON.stringify([format, shard, String(seq), time.getTime(), token, previous_hash])]
  for (const entry of entries) lines.push(JSON.stringify(STORED_ENTRY.toJson(entry)))
  return sha256Hex(lines.join('\n'))
}

/** The format in which a release writes batches, and the newest format that it reads. */
export interface BatchFormats {
  readonly written: number
  readonly read_max: number
}

/**
 * The formats of this release. WARNING: a new format needs two releases, because old and new processes run together
 * during an update. The first raises `read_max` and learns to read the format; only the next one raises `written` (R9).
 * Format 2 needed one: it came before the first release.
 */
export const BATCH_FORMATS: BatchFormats = { written: 2, read_max: 2 }

/** The first format with statements of kinds, and with the acts of the operator in entries. */
export const FORMAT_WITH_KINDS = 2

/**
 * A shard has a batch of a format that only a newer release reads. This process cannot know what the batch says, so it
 * must not decide for the shard nor read its accounts. It is `Unavailable`: a process of the newer release can.
 */
export class NewerBatchFormat extends Unavailable {
  override readonly name = 'NewerBatchFormat'
  readonly shard: number

  constructor(shard: number, seq: bigint, format: number) {
    super(
      `shard ${shard}: batch ${seq} has the format ${format}, which only a newer release reads; complete the update`,
    )
    this.shard = shard
  }
}
