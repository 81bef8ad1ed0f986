import { uuidv7 } from '#lib/base/ids.ts'
import type { Stored } from '#lib/store/store.ts'
import type { ShardState } from '../domain/shard-state.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { SnapshotHead } from '../store/snapshot-parts.ts'
import { type LoadedSnapshot, loadSnapshot, saveParts } from './stored-snapshot.ts'

/** The head document of a checkpoint. */
export type CheckpointHead = Stored<SnapshotHead>

/** The stored checkpoint of a shard. A damaged one must not be used. `stored_head` may then be malformed. */
export type StoredCheckpoint = { readonly stored_head: CheckpointHead } & LoadedSnapshot

/**
 * Stores a state as the shard's checkpoint, unless a later one is stored. Returns the head, or `undefined` when another
 * checkpoint stays. `damaged_version` is the version of a damaged head, which is replaced whatever its position.
 * `repair_id` is the repair that the state rests on.
 */
export async function saveCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  state: Pick<ShardState, 'shard' | 'head' | 'pages'>,
  damaged_version?: number,
  repair_id?: string,
): Promise<CheckpointHead | undefined> {
  const { head, markStored } = await saveParts(checkpoints, state, undefined, repair_id)
  const stored_head = await checkpoints.advanceHead(head, { damaged_version })
  // Parts of the checkpoint that stays must not be deleted.
  if (stored_head === undefined) return undefined
  markStored()
  await checkpoints.deletePartsBefore(head.shard, head.seq)
  return stored_head
}

/**
 * Replaces the checkpoint `base`, from which the state was loaded or as which it was saved, and writes the changed pages
 * only. Returns the new head, or `undefined` when another process has replaced `base`. `looks_for_remains`: deletes what
 * crashed saves left, which needs a read of all parts; otherwise only what `base` had.
 */
export async function saveChanges(
  checkpoints: LedgerStore['checkpoints'],
  state: Pick<ShardState, 'shard' | 'head' | 'pages'>,
  base: CheckpointHead,
  looks_for_remains: boolean,
): Promise<CheckpointHead | undefined> {
  const { head, markStored } = await saveParts(checkpoints, state, base)
  const stored_head = await checkpoints.advanceHead(head, { base_version: base.version })
  if (stored_head === undefined) return undefined
  markStored()
  const { shard, seq } = head
  const kept = new Set(head.parts.map(({ id }) => id))
  if (looks_for_remains) await checkpoints.deletePartsBefore(shard, seq, kept)
  else for (const part of base.parts) if (!kept.has(part.id)) await checkpoints.deletePart(shard, part)
  return stored_head
}

/** Reads the shard's checkpoint and checks it. Returns `undefined` when the shard has none. */
export async function readCheckpoint(
  { checkpoints, journal }: Pick<LedgerStore, 'checkpoints' | 'journal'>,
  shard: number,
): Promise<StoredCheckpoint | undefined> {
  const stored_head = await checkpoints.getHead(shard)
  if (stored_head === undefined) return undefined
  const loaded = await loadSnapshot(checkpoints, journal, stored_head)
  if (loaded.status === 'damaged') {
    // Parts are deleted after a later head was written, so they may be missing only because of a concurrent save.
    const current = await checkpoints.getHead(shard)
    if (current?.version !== stored_head.version) return await readCheckpoint({ checkpoints, journal }, shard)
  }
  return { stored_head, ...loaded }
}

/** The batch of a checkpoint; 0 for a malformed one, which can have anything there. */
export function sequenceOf({ stored_head: { seq } }: StoredCheckpoint): bigint {
  return typeof seq === 'bigint' ? seq : 0n
}

/**
 * Replaces a wrong checkpoint by a verified state, unless another one is stored by now. By the new `repair_id`, processes
 * that loaded the wrong one notice the repair and load the shard again. An empty journal needs no checkpoint, so then the
 * wrong one is only deleted.
 */
export async function repairCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  wrong: StoredCheckpoint,
  state: ShardState,
): Promise<void> {
  const { shard } = state
  const { version } = wrong.stored_head
  if (state.head().seq > 0n) return void (await saveCheckpoint(checkpoints, state, version, uuidv7()))
  await checkpoints.deleteHead(shard, version)
  await checkpoints.deletePartsBefore(shard, sequenceOf(wrong) + 1n)
}
