import type { ShardSnapshot } from '../domain/shard-state.ts'
import { CHECKPOINT_PART_ROWS, CHECKPOINT_PARTS_PER_READ } from '../limits.ts'
import { hasSnapshotHeadForm, hasSnapshotPartForm } from '../store/document-form.ts'
import type { Journal } from '../store/journal.ts'
import {
  SNAPSHOT_FORMAT,
  type SnapshotHead,
  type SnapshotPart,
  type SnapshotPartCollection,
} from '../store/snapshot-parts.ts'
import { digestOfPart, digestOfSnapshot } from './snapshot-digest.ts'

/**
 * A snapshot that was read. `damaged`: it contradicts its digest or the journal, or lacks a part, so it must not be used;
 * `problem` says what is wrong.
 */
export type LoadedSnapshot =
  | { readonly status: 'sound'; readonly snapshot: ShardSnapshot }
  | { readonly status: 'damaged'; readonly problem: string }

/**
 * Stores the parts of a snapshot and returns its head, which the caller stores last: a snapshot whose head can be found
 * is complete. Every process computes the same rows at the same batch, so processes that save at the same time write
 * the same parts.
 */
export async function saveParts(
  parts: Pick<SnapshotPartCollection, 'putPart'>,
  snapshot: ShardSnapshot,
): Promise<SnapshotHead> {
  const { shard, head } = snapshot
  const part_digests: string[] = []
  const count = partCount(snapshot)
  for (let number = 0; number < count; number += 1) {
    const part = partOf(snapshot, number)
    part_digests.push(digestOfPart(part))
    await parts.putPart(part)
  }
  const time = new Date(head.time_ms)
  const content = { shard, format: SNAPSHOT_FORMAT, seq: head.seq, time, hash: head.hash, parts: count }
  return { ...content, digest: digestOfSnapshot(content, part_digests) }
}

/**
 * Reads a snapshot and checks it: its documents have the form that they were written in, every part is there, the rows
 * match the digest, and the journal has its batch with the same hash.
 */
export async function loadSnapshot(
  parts: Pick<SnapshotPartCollection, 'getPart'>,
  journal: Pick<Journal, 'getBatch'>,
  head: SnapshotHead,
): Promise<LoadedSnapshot> {
  if (!hasSnapshotHeadForm(head)) return { status: 'damaged', problem: 'has a malformed head' }
  const { shard, seq, hash } = head
  const present = await readParts(parts, head)
  if (present === undefined) return { status: 'damaged', problem: 'lacks a part' }
  if (!present.every(hasSnapshotPartForm)) return { status: 'damaged', problem: 'has a malformed part' }
  if (head.digest !== digestOfSnapshot(head, present.map(digestOfPart)))
    return { status: 'damaged', problem: 'does not match its digest' }
  if ((await journal.getBatch(shard, seq))?.hash !== hash)
    return { status: 'damaged', problem: 'is of a batch that is not in the journal' }
  return { status: 'sound', snapshot: snapshotOf(head, present) }
}

/**
 * Reads the parts of a snapshot; `undefined` when one is missing. It reads some at a time, because an altered head can
 * name any number of them.
 */
async function readParts(
  parts: Pick<SnapshotPartCollection, 'getPart'>,
  head: SnapshotHead,
): Promise<readonly SnapshotPart[] | undefined> {
  const read: SnapshotPart[] = []
  while (read.length < head.parts) {
    const count = Math.min(CHECKPOINT_PARTS_PER_READ, head.parts - read.length)
    const numbers = Array.from({ length: count }, (_, index) => read.length + index)
    for (const part of await Promise.all(numbers.map((part) => parts.getPart(head.shard, head.seq, part)))) {
      if (part === undefined) return undefined
      read.push(part)
    }
  }
  return read
}

function snapshotOf({ shard, seq, time, hash }: SnapshotHead, parts: readonly SnapshotPart[]): ShardSnapshot {
  return {
    shard,
    head: { seq, time_ms: time.getTime(), hash },
    accounts: parts.flatMap((part) => part.accounts),
    holds: parts.flatMap((part) => part.holds),
    early_releases: parts.flatMap((part) => part.early_releases),
    withdrawal_totals: parts.flatMap((part) => part.withdrawal_totals),
  }
}

function partCount({ accounts, holds, early_releases, withdrawal_totals }: ShardSnapshot): number {
  const rows = Math.max(accounts.length, holds.length, early_releases.length, withdrawal_totals.length)
  return Math.max(1, Math.ceil(rows / CHECKPOINT_PART_ROWS))
}

function partOf({ shard, head, ...rows }: ShardSnapshot, part: number): SnapshotPart {
  const from = part * CHECKPOINT_PART_ROWS
  const to = from + CHECKPOINT_PART_ROWS
  return {
    shard,
    format: SNAPSHOT_FORMAT,
    seq: head.seq,
    part,
    accounts: rows.accounts.slice(from, to),
    holds: rows.holds.slice(from, to),
    early_releases: rows.early_releases.slice(from, to),
    withdrawal_totals: rows.withdrawal_totals.slice(from, to),
  }
}
