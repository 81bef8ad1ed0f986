import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ShardSnapshot } from '../domain/shard-state.ts'
import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import type { CheckpointPart, Checkpoints } from '../store/ledger-store.ts'

const READS_MAX = 5

/**
 * Keeps a snapshot as the shard's checkpoint, unless a later one is there. The parts are written first and the head
 * last, so that a checkpoint that can be found is whole. A shard is the same at the same batch in every process, so
 * a part that another process wrote is as good as ours.
 */
export async function saveCheckpoint(checkpoints: Checkpoints, snapshot: ShardSnapshot): Promise<void> {
  const { shard, head } = snapshot
  const parts = partsOf(snapshot)
  for (const part of parts) await checkpoints.insertPart(part)
  const time = new Date(head.time_ms)
  await checkpoints.advanceHead({ shard, seq: head.seq, time, hash: head.hash, parts: parts.length })
  while (await checkpoints.deletePartsBefore(shard, head.seq));
}

/** The shard's checkpoint, whole, or `undefined` when it has none. */
export async function loadCheckpoint(
  checkpoints: Checkpoints,
  shard: number,
): Promise<ShardSnapshot | undefined> {
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const head = await checkpoints.getHead(shard)
    if (head === undefined) return undefined
    const { seq, time, hash, parts: count } = head
    const numbers = Array.from({ length: count }, (_, part) => part)
    const parts = await Promise.all(numbers.map((part) => checkpoints.getPart(shard, seq, part)))
    // A part that is gone was deleted because a later checkpoint is there: read that one.
    const present = parts.filter((part) => part !== undefined)
    if (present.length === count) {
      const books = present.flatMap((part) => part.accounts)
      const holds = present.flatMap((part) => part.holds)
      return { shard, head: { seq, time_ms: time.getTime(), hash }, accounts: books, holds }
    }
  }
  throw new Unavailable(`the checkpoint of shard ${shard} changes faster than it can be read`)
}

/** Deletes a shard's checkpoint, so that the shard is read from the beginning of its journal. */
export async function dropCheckpoint(checkpoints: Checkpoints, shard: number): Promise<void> {
  const head = await checkpoints.getHead(shard)
  if (head === undefined) return
  await checkpoints.deleteHead(shard)
  while (await checkpoints.deletePartsBefore(shard, head.seq + 1n));
}

function partsOf({ shard, head, accounts: books, holds }: ShardSnapshot): CheckpointPart[] {
  const { seq } = head
  const count = Math.max(1, Math.ceil(Math.max(books.length, holds.length) / CHECKPOINT_PART_ROWS))
  return Array.from({ length: count }, (_, part) => {
    const from = part * CHECKPOINT_PART_ROWS
    const to = from + CHECKPOINT_PART_ROWS
    return { shard, seq, part, accounts: books.slice(from, to), holds: holds.slice(from, to) }
  })
}
