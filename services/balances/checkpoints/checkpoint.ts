import type { ShardSnapshot } from '../domain/shard-state.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { type LoadedSnapshot, loadSnapshot, saveParts } from './stored-snapshot.ts'

/** The stored checkpoint of a shard. A damaged one must not be used. `version` is that of the head document. */
export type StoredCheckpoint = { readonly version: number; readonly seq: bigint } & LoadedSnapshot

/**
 * Stores a snapshot as the shard's checkpoint, unless a later one is stored. `damaged_version` is the version of a
 * damaged head, which is replaced whatever its position.
 */
export async function saveCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  snapshot: ShardSnapshot,
  damaged_version?: number,
): Promise<void> {
  const head = await saveParts(checkpoints, snapshot)
  await checkpoints.advanceHead(head, damaged_version)
  while (await checkpoints.deletePartsBefore(head.shard, head.seq));
}

/** Reads the shard's checkpoint and checks it. Returns `undefined` when the shard has none. */
export async function readCheckpoint(
  { checkpoints, journal }: Pick<LedgerStore, 'checkpoints' | 'journal'>,
  shard: number,
): Promise<StoredCheckpoint | undefined> {
  const head = await checkpoints.getHead(shard)
  if (head === undefined) return undefined
  const { version } = head
  // A malformed head can have anything here.
  const seq = typeof head.seq === 'bigint' ? head.seq : 0n
  const loaded = await loadSnapshot(checkpoints, journal, head)
  if (loaded.status === 'damaged') {
    // Parts are deleted after a later head was written, so they may be missing only because of a concurrent save.
    const current = await checkpoints.getHead(shard)
    if (current?.version !== version) return await readCheckpoint({ checkpoints, journal }, shard)
  }
  return { version, seq, ...loaded }
}

/**
 * Replaces the checkpoint that was read, unless it was replaced since. A snapshot of an empty journal needs no checkpoint,
 * so then it is only deleted.
 */
export async function replaceCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  { version, seq }: Pick<StoredCheckpoint, 'version' | 'seq'>,
  snapshot: ShardSnapshot,
): Promise<void> {
  const { shard, head } = snapshot
  if (head.seq > 0n) return await saveCheckpoint(checkpoints, snapshot, version)
  await checkpoints.deleteHead(shard, version)
  while (await checkpoints.deletePartsBefore(shard, seq + 1n));
}
