import { deleteUnchanged } from '#lib/patterns/delete-unchanged.ts'
import { upsert } from '#lib/patterns/update.ts'
import type { Collection, Store, Stored } from '#lib/store/store.ts'
import { SHARDS } from '../domain/shard.ts'
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
   * Makes this the shard's checkpoint and returns it as stored; `undefined` when another one stays. With `base_version`
   * it replaces that version of the head only: parts of a checkpoint that was replaced since may be gone. Otherwise it
   * replaces an earlier checkpoint, unless that was repaired after the state of this one was loaded, and any that has the
   * version `damaged_version`.
   */
  advanceHead(
    head: SnapshotHead,
    replaced: { readonly base_version?: number | undefined; readonly damaged_version?: number | undefined },
  ): Promise<Stored<SnapshotHead> | undefined>
  /** Deletes the head unless it has another version by now. */
  deleteHead(shard: number, version: number): Promise<void>
  /** The last repair of each shard whose checkpoint rests on one, by shard. */
  listRepairs(): Promise<ReadonlyMap<number, string | undefined>>
}

/** Opens the collections `checkpoints` and `checkpoint_parts`. */
export async function openCheckpoints(store: Store): Promise<Checkpoints> {
  const heads = await store.collection<SnapshotHead>({
    name: 'checkpoints',
    partition: ['shard'],
    key: ['shard', 'format'],
    indexes: { by_repair: { fields: ['repair_id'], where: 'repair_id', across_partitions: true } },
  })
  return createCheckpoints(heads, await openSnapshotParts(store, 'checkpoint_parts'))
}

function createCheckpoints(heads: Collection<SnapshotHead>, parts: SnapshotPartCollection): Checkpoints {
  const format = SNAPSHOT_FORMAT
  return {
    ...parts,
    getHead: (shard) => heads.get({ shard, format }),
    async advanceHead(head, { base_version, damaged_version }) {
      let is_advanced = false
      const stored = await upsert(heads, { shard: head.shard, format }, (current) => {
        is_advanced =
          base_version === undefined
            ? !current || isOvertaken(current, head) || current.version === damaged_version
            : current?.version === base_version
        return is_advanced ? head : undefined
      })
      return is_advanced ? stored : undefined
    },
    deleteHead: (shard, version) => deleteUnchanged(heads, { shard, format }, version),
    async listRepairs() {
      const repaired = await heads.find('by_repair', {}, { limit: SHARDS })
      return new Map(repaired.map(({ shard, repair_id }) => [shard, repair_id]))
    },
  }
}

/** Whether a later head may replace the current one: its state must not have been loaded before the last repair. */
function isOvertaken(current: SnapshotHead, head: SnapshotHead): boolean {
  return current.seq < head.seq && (current.repair_id === undefined || current.repair_id === head.repair_id)
}
