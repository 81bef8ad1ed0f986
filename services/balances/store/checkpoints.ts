import { upsert } from '#lib/patterns/update.ts'
import type { Collection, Store, Stored } from '#lib/platform/store/store.ts'
import { deleteUnchanged } from './guarded-writes.ts'
import {
  openSnapshotParts,
  SNAPSHOT_FORMAT,
  type SnapshotHead,
  type SnapshotPartCollection,
} from './snapshot-parts.ts'

/** The stored checkpoints of `SNAPSHOT_FORMAT`: one per shard, and briefly two while a new one replaces it. */
export interface Checkpoints extends SnapshotPartCollection {
  getHead(shard: number): Promise<Stored<SnapshotHead> | undefined>
  /**
   * Makes this the shard's checkpoint unless the stored one is the same or a later one. The stored one is replaced
   * in any case while it has the version `damaged_version`.
   */
  advanceHead(head: SnapshotHead, damaged_version?: number): Promise<void>
  /** Deletes the head unless it has another version by now. */
  deleteHead(shard: number, version: number): Promise<void>
}

/** Opens the collections `checkpoints` and `checkpoint_parts`. */
export async function openCheckpoints(store: Store): Promise<Checkpoints> {
  const heads = await store.collection<SnapshotHead>({
    name: 'checkpoints',
    partition: ['shard'],
    key: ['shard', 'format'],
  })
  return createCheckpoints(heads, await openSnapshotParts(store, 'checkpoint_parts'))
}

function createCheckpoints(heads: Collection<SnapshotHead>, parts: SnapshotPartCollection): Checkpoints {
  const format = SNAPSHOT_FORMAT
  return {
    ...parts,
    getHead: (shard) => heads.get({ shard, format }),
    async advanceHead(head, damaged_version) {
      await upsert(heads, { shard: head.shard, format }, (current) => {
        const is_kept = current && current.seq >= head.seq && current.version !== damaged_version
        return is_kept ? undefined : head
      })
    },
    deleteHead: (shard, version) => deleteUnchanged(heads, { shard, format }, version),
  }
}
