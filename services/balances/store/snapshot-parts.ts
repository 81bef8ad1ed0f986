import { upsert } from '#lib/patterns/update.ts'
import type { Store } from '#lib/platform/store/store.ts'
import type { Rows } from '../domain/shard-rows.ts'
import { deleteUnchanged } from './guarded-writes.ts'

/**
 * The format of stored snapshots and of their digest. It is part of their keys, so that two releases with different
 * formats never read or replace each other's documents.
 */
export const SNAPSHOT_FORMAT = 1

/** Describes a stored snapshot of a shard after one batch. Its rows are in the part documents. */
export interface SnapshotHead {
  readonly shard: number
  readonly format: number
  readonly seq: bigint
  readonly time: Date
  readonly hash: string
  /** The number of part documents. */
  readonly parts: number
  /** SHA-256 over the other fields and all rows. A snapshot that does not match it is not used. */
  readonly digest: string
}

/** One document with some of the rows of a snapshot. `part` counts from 0. */
export interface SnapshotPart extends Rows {
  readonly shard: number
  readonly format: number
  readonly seq: bigint
  readonly part: number
}

/** The stored parts of snapshots of `SNAPSHOT_FORMAT`. */
export interface SnapshotPartCollection {
  getPart(shard: number, seq: bigint, part: number): Promise<SnapshotPart | undefined>
  /** Writes a part, also over one that a crashed or concurrent save left at the same place. */
  putPart(part: SnapshotPart): Promise<void>
  /** Deletes some parts of snapshots before `seq`. Returns whether there may be more of them. */
  deletePartsBefore(shard: number, seq: bigint): Promise<boolean>
}

/** Most parts deleted at a time. */
const DELETES_MAX = 100

/** Opens a collection of snapshot parts. */
export async function openSnapshotParts(store: Store, name: string): Promise<SnapshotPartCollection> {
  const format = SNAPSHOT_FORMAT
  const parts = await store.collection<SnapshotPart>({
    name,
    partition: ['shard'],
    key: ['shard', 'format', 'seq', 'part'],
  })
  return {
    getPart: (shard, seq, part) => parts.get({ shard, format, seq, part }),
    async putPart(part) {
      const { shard, seq, part: number } = part
      await upsert(parts, { shard, format, seq, part: number }, () => part)
    },
    async deletePartsBefore(shard, seq) {
      const old = await parts.find('key', { equals: [shard, format], to: seq }, { limit: DELETES_MAX })
      await Promise.all(
        old.map(({ part, seq, version }) => deleteUnchanged(parts, { shard, format, seq, part }, version)),
      )
      return old.length === DELETES_MAX
    },
  }
}
