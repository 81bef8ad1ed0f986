import type { ShardSnapshot } from '../domain/shard-state.ts'
import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import { CHECKPOINT_FORMAT, type CheckpointHead, type CheckpointPart } from '../store/checkpoints.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { digestOfCheckpoint, digestOfPart } from './checkpoint-digest.ts'

/**
 * The stored checkpoint of a shard. `damaged`: it contradicts its digest or the journal, or lacks a part, so it must not
 * be used; `problem` says what is wrong. `version` is that of the head document.
 */
export type StoredCheckpoint = { readonly version: number; readonly seq: bigint } & (
  | { readonly status: 'sound'; readonly snapshot: ShardSnapshot }
  | { readonly status: 'damaged'; readonly problem: string }
)

/**
 * Stores a snapshot as the shard's checkpoint, unless a later one is stored. The parts are written first and the head
 * last, so a checkpoint that can be found is complete. Every process computes the same rows at the same batch, so
 * processes that save at the same time write the same parts. `damaged_version` is the version of a damaged head, which
 * is replaced whatever its position.
 */
export async function saveCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  snapshot: ShardSnapshot,
  damaged_version?: number,
): Promise<void> {
  const { shard, head } = snapshot
  const part_digests: string[] = []
  const parts = partCount(snapshot)
  for (let number = 0; number < parts; number += 1) {
    const part = partOf(snapshot, number)
    part_digests.push(digestOfPart(part))
    await checkpoints.putPart(part)
  }
  const time = new Date(head.time_ms)
  const content = { shard, format: CHECKPOINT_FORMAT, seq: head.seq, time, hash: head.hash, parts }
  const digest = digestOfCheckpoint(content, part_digests)
  await checkpoints.advanceHead({ ...content, digest }, damaged_version)
  while (await checkpoints.deletePartsBefore(shard, head.seq));
}

/**
 * Reads the shard's checkpoint and checks it: every part is there, the rows match the digest, and the journal has its
 * batch. Returns `undefined` when the shard has none.
 */
export async function readCheckpoint(
  { checkpoints, journal }: Pick<LedgerStore, 'checkpoints' | 'journal'>,
  shard: number,
): Promise<StoredCheckpoint | undefined> {
  const head = await checkpoints.getHead(shard)
  if (head === undefined) return undefined
  const { version, seq, hash } = head
  const numbers = Array.from({ length: head.parts }, (_, part) => part)
  const parts = await Promise.all(numbers.map((part) => checkpoints.getPart(shard, seq, part)))
  const present = parts.filter((part) => part !== undefined)
  if (present.length < head.parts) {
    // Parts are deleted after a later head was written, so they may be missing only because of a concurrent save.
    const current = await checkpoints.getHead(shard)
    if (current?.version !== version) return await readCheckpoint({ checkpoints, journal }, shard)
    return { version, seq, status: 'damaged', problem: 'lacks a part' }
  }
  if (head.digest !== digestOfCheckpoint(head, present.map(digestOfPart)))
    return { version, seq, status: 'damaged', problem: 'does not match its digest' }
  if ((await journal.getBatch(shard, seq))?.hash !== hash)
    return { version, seq, status: 'damaged', problem: 'is of a batch that is not in the journal' }
  return { version, seq, status: 'sound', snapshot: snapshotOf(head, present) }
}

/** Deletes the checkpoint that was read. The next load replays the journal from its beginning. */
export async function dropCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  shard: number,
  { version, seq }: Pick<StoredCheckpoint, 'version' | 'seq'>,
): Promise<void> {
  await checkpoints.deleteHead(shard, version)
  while (await checkpoints.deletePartsBefore(shard, seq + 1n));
}

function snapshotOf(
  { shard, seq, time, hash }: CheckpointHead,
  parts: readonly CheckpointPart[],
): ShardSnapshot {
  return {
    shard,
    head: { seq, time_ms: time.getTime(), hash },
    accounts: parts.flatMap((part) => part.accounts),
    holds: parts.flatMap((part) => part.holds),
    early_releases: parts.flatMap((part) => part.early_releases),
  }
}

function partCount({ accounts, holds, early_releases }: ShardSnapshot): number {
  const rows = Math.max(accounts.length, holds.length, early_releases.length)
  return Math.max(1, Math.ceil(rows / CHECKPOINT_PART_ROWS))
}

function partOf(
  { shard, head, accounts, holds, early_releases }: ShardSnapshot,
  part: number,
): CheckpointPart {
  const from = part * CHECKPOINT_PART_ROWS
  const to = from + CHECKPOINT_PART_ROWS
  return {
    shard,
    format: CHECKPOINT_FORMAT,
    seq: head.seq,
    part,
    accounts: accounts.slice(from, to),
    holds: holds.slice(from, to),
    early_releases: early_releases.slice(from, to),
  }
}
