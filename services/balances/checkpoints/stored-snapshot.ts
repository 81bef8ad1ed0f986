import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import {
  BIGINT,
  type FieldsOf,
  INTEGER,
  listOf,
  optional,
  record,
  TEXT,
  TIME,
} from '#lib/base/stored-fields.ts'
import type { JournalHead } from '../domain/hash-chain.ts'
import { ROW_KINDS, ROW_TABLES, type Rows } from '../domain/rows.ts'
import type { ShardSource, ShardState } from '../domain/shard-state.ts'
import { CHECKPOINT_PARTS_PER_READ } from '../limits.ts'
import {
  type PartReference,
  SNAPSHOT_FORMAT,
  type SnapshotHead,
  type SnapshotPart,
  type SnapshotPartCollection,
} from '../store/checkpoints.ts'
import type { Journal } from '../store/journal.ts'

const STORED_REFERENCE = record<PartReference>({ seq: BIGINT, id: TEXT, digest: TEXT })

const STORED_HEAD = record<SnapshotHead>({
  shard: INTEGER,
  format: INTEGER,
  seq: BIGINT,
  time: TIME,
  hash: TEXT,
  parts: listOf(STORED_REFERENCE),
  repair_id: optional(TEXT),
  digest: TEXT,
  signature: TEXT,
})

const STORED_ROWS = Object.fromEntries(ROW_KINDS.map((kind) => [kind, listOf(ROW_TABLES[kind].stored)]))

const STORED_PART = record<SnapshotPart>({
  shard: INTEGER,
  format: INTEGER,
  seq: BIGINT,
  id: TEXT,
  ...(STORED_ROWS as FieldsOf<Rows>),
})

/**
 * The result of reading a snapshot. `damaged`: it contradicts its digest or the journal, or lacks a part, so it must not
 * be used; `problem` says what is wrong.
 */
export type LoadedSnapshot =
  | { readonly status: 'sound'; readonly snapshot: ShardSource & { readonly head: JournalHead } }
  | { readonly status: 'damaged'; readonly problem: string }

const NO_ROWS: Rows = { accounts: [], holds: [], early_releases: [], withdrawal_totals: [] }

/**
 * Stores a state as parts, one per page of rows, and returns the head, which the caller stores last: a snapshot whose
 * head can be found is complete. Pages that are unchanged since `base` keep their parts. The state is read before the
 * first write, so it may go on meanwhile.
 */
export async function saveParts(
  parts: Pick<SnapshotPartCollection, 'putPart' | 'signDigest'>,
  state: Pick<ShardState, 'shard' | 'head' | 'pages'>,
  base?: SnapshotHead,
  repair_id = base?.repair_id,
) {
  const { shard } = state
  const { seq, time_ms, hash } = state.head()
  const kept = new Map(base?.parts.map((reference) => [reference.id, reference]))
  const pages = state.pages().map((page) => {
    const stored = kept.get(page.storedPart() ?? '')
    return { page, stored, version: page.version(), rows: stored ? {} : page.rows() }
  })
  const references: PartReference[] = []
  const written: (() => void)[] = []
  for (const { page, stored, version, rows } of pages) {
    if (stored) {
      references.push(stored)
      continue
    }
    const id = uuidv7()
    const part = { shard, format: SNAPSHOT_FORMAT, seq, id, ...NO_ROWS, ...rows }
    await parts.putPart(part)
    references.push({ seq, id, digest: digestOfPart(part) })
    written.push(() => page.markStored(id, version))
  }
  const content = { shard, format: SNAPSHOT_FORMAT, seq, time: new Date(time_ms), hash, parts: references }
  const digest = digestOfSnapshot(content)
  const saved_head: SnapshotHead = { ...content, repair_id, digest, signature: parts.signDigest(digest) }
  return {
    head: saved_head,
    /** Call it once the head is stored: then the pages need not be written again. */
    markStored(): void {
      for (const mark of written) mark()
    },
  }
}

/**
 * Reads a snapshot and checks it: its documents have the form that they were written in, every part is there, the rows
 * match the digests, the head is signed, and the journal has its batch with the same hash.
 */
export async function loadSnapshot(
  parts: Pick<SnapshotPartCollection, 'getPart' | 'isSigned'>,
  journal: Pick<Journal, 'getHash'>,
  head: SnapshotHead,
): Promise<LoadedSnapshot> {
  if (!STORED_HEAD.isValid(head)) return { status: 'damaged', problem: 'has a malformed head' }
  const { shard, seq, time, hash } = head
  const present = await readParts(parts, head)
  if (present === undefined) return { status: 'damaged', problem: 'lacks a part' }
  if (!present.every(STORED_PART.isValid)) return { status: 'damaged', problem: 'has a malformed part' }
  const is_unaltered = present.every((part, at) => digestOfPart(part) === head.parts[at]?.digest)
  if (!is_unaltered || head.digest !== digestOfSnapshot(head))
    return { status: 'damaged', problem: 'does not match its digest' }
  if (!parts.isSigned(head)) return { status: 'damaged', problem: 'was not signed with a key of the ledger' }
  if ((await journal.getHash(shard, seq)) !== hash)
    return { status: 'damaged', problem: 'is of a batch that is not in the journal' }
  return {
    status: 'sound',
    snapshot: { shard, head: { seq, time_ms: time.getTime(), hash }, parts: present },
  }
}

/** Reads the parts of a snapshot; `undefined` when one is missing. It reads some at a time, which bounds the reads. */
async function readParts(
  parts: Pick<SnapshotPartCollection, 'getPart'>,
  head: SnapshotHead,
): Promise<readonly SnapshotPart[] | undefined> {
  const read: SnapshotPart[] = []
  while (read.length < head.parts.length) {
    const some = head.parts.slice(read.length, read.length + CHECKPOINT_PARTS_PER_READ)
    for (const part of await Promise.all(some.map((key) => parts.getPart(head.shard, key)))) {
      if (part === undefined) return undefined
      read.push(part)
    }
  }
  return read
}

/**
 * Digest of the fields of a head and, through the digests of its parts, of all rows. Like the hash chain of the journal,
 * it is computed over JSON with a fixed order of fields, so that it does not depend on how a store keeps documents.
 */
export function digestOfSnapshot(snapshot: Omit<SnapshotHead, 'digest' | 'signature'>): string {
  const { shard, format, seq, time, hash, parts } = snapshot
  const head = JSON.stringify([format, shard, String(seq), time.getTime(), hash, parts.length])
  const references = parts.map((part) => JSON.stringify(STORED_REFERENCE.toJson(part)))
  return sha256Hex([head, ...references].join('\n'))
}

/** Digest of one part and its rows, in their order. */
export function digestOfPart(part: SnapshotPart): string {
  const { format, shard, seq, id } = part
  const counts = ROW_KINDS.map((kind) => part[kind].length)
  const lines = [JSON.stringify([format, shard, String(seq), id, ...counts])]
  for (const kind of ROW_KINDS)
    for (const row of part[kind]) lines.push(JSON.stringify(ROW_TABLES[kind].stored.toJson(row)))
  return sha256Hex(lines.join('\n'))
}
