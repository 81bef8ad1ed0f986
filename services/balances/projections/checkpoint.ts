import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ShardSnapshot } from '../domain/shard-state.ts'
import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import type { CheckpointPart, Checkpoints } from '../store/checkpoints.ts'

const READ_TRIES_MAX = 5

/**
 * Stores a snapshot as the shard's checkpoint, unless a later one is stored. The parts are written first and the head
 * last, so a checkpoint that can be found is complete. Every process computes the same state at the same batch, so a
 * part that another process wrote can be used as well.
 */
export async function saveCheckpoint(checkpoints: Checkpoints, snapshot: ShardSnapshot): Promise<void> {
  const { shard, head } = snapshot
  const parts = partsOf(snapshot)
  for (const part of parts) await checkpoints.insertPart(part)
  const time = new Date(head.time_ms)
  await checkpoints.advanceHead({ shard, seq: head.seq, time, hash: head.hash, parts: parts.length })
  while (await checkpoints.deletePartsBefore(shard, head.seq));
}

/** Reads the shard's complete checkpoint, or `undefined` when it has none. */
export async function loadCheckpoint(
  checkpoints: Checkpoints,
  shard: number,
): Promise<ShardSnapshot | undefined> {
  for (let tries = 0; tries < READ_TRIES_MAX; tries += 1) {
    const head = await checkpoints.getHead(shard)
    if (head === undefined) return undefined
    const { seq, time, hash, parts: count } = head
    const numbers = Array.from({ length: count }, (_, part) => part)
    const parts = await Promise.all(numbers.map((part) => checkpoints.getPart(shard, seq, part)))
    // A missing part was deleted because a later checkpoint is stored. The next try reads that one.
    const present = parts.filter((part) => part !== undefined)
    if (present.length === count) {
      const accounts = present.flatMap((part) => part.accounts)
      const holds = present.flatMap((part) => part.holds)
      return { shard, head: { seq, time_ms: time.getTime(), hash }, accounts, holds }
    }
  }
  throw new Unavailable(
    `shard ${shard}: the checkpoint lacked parts at each of ${READ_TRIES_MAX} reads; try again, or delete its document in the collection checkpoints if this persists`,
  )
}

/** Deletes the shard's checkpoint. The next load replays the journal from its beginning. */
export async function dropCheckpoint(checkpoints: Checkpoints, shard: number): Promise<void> {
  const head = await checkpoints.getHead(shard)
  if (head === undefined) return
  await checkpoints.deleteHead(shard)
  while (await checkpoints.deletePartsBefore(shard, head.seq + 1n));
}

function partsOf({ shard, head, accounts, holds }: ShardSnapshot): CheckpointPart[] {
  const { seq } = head
  const count = Math.max(1, Math.ceil(Math.max(accounts.length, holds.length) / CHECKPOINT_PART_ROWS))
  return Array.from({ length: count }, (_, part) => {
    const from = part * CHECKPOINT_PART_ROWS
    const to = from + CHECKPOINT_PART_ROWS
    return { shard, seq, part, accounts: accounts.slice(from, to), holds: holds.slice(from, to) }
  })
}
