import type { Signer } from '#lib/base/crypto/signer.ts'
import { deleteUnchanged, upsert } from '#lib/patterns/update.ts'
import type { Store, Stored } from '#lib/store/store.ts'
import type { StoredRows } from '../domain/paged-rows.ts'
import { SHARDS } from '../domain/shard.ts'

/**
 * The format of stored snapshots and of their digest. It is part of their keys, so that two releases with different
 * formats never read or replace each other's documents.
 */
export const SNAPSHOT_FORMAT = 1

/** Names a part and the batch of the snapshot that it was written for. Later snapshots may contain it too. */
interface PartKey {
  readonly seq: bigint
  readonly id: string
}

/** A part of a snapshot, as its head lists it. */
export interface PartReference extends PartKey {
  /** SHA-256 over the fields and the rows of the part. */
  readonly digest: string
}

/** Describes a stored snapshot of a shard after one batch. Its rows are in the part documents. */
export interface SnapshotHead {
  readonly shard: number
  readonly format: number
  readonly seq: bigint
  readonly time: Date
  readonly hash: string
  readonly parts: readonly PartReference[]
  /** Of a checkpoint that a verification has put in the place of a wrong one, and of all that follow it. */
  readonly repair_id?: string | undefined
  /** SHA-256 over the fields before and, by their digests, all rows. A snapshot that does not match it is not used. */
  readonly digest: string
  /** Over the digest, with a key of the ledger. Without a right one the snapshot is not used: others could have made it. */
  readonly signature: string
}

/** One document with some rows of one kind. It never changes. */
export interface SnapshotPart extends StoredRows {
  readonly shard: number
  readonly format: number
  readonly seq: bigint
}

/** The stored parts of snapshots of `SNAPSHOT_FORMAT`. */
export type SnapshotPartCollection = Awaited<ReturnType<typeof openSnapshotParts>>

/** Parts read at a time in order to delete them. It bounds the memory. */
const PARTS_PER_DELETE = 16

/** Opens a collection of snapshot parts. */
export async function openSnapshotParts(store: Store, signer: Signer, name: string) {
  const format = SNAPSHOT_FORMAT
  const parts = await store.collection<SnapshotPart>({
    name,
    partition: ['shard'],
    key: ['shard', 'format', 'seq', 'id'],
  })
  return {
    signDigest: (digest: string): string => signer.sign(`snapshot ${digest}`),
    isSigned: ({ digest, signature }: SnapshotHead): boolean =>
      signer.verify(`snapshot ${digest}`, signature),
    getPart: (shard: number, { seq, id }: PartKey): Promise<SnapshotPart | undefined> =>
      parts.get({ shard, format, seq, id }),
    /** Writes a part under its id, which no other part has. */
    async putPart(part: SnapshotPart): Promise<void> {
      const { shard, seq, id } = part
      await upsert(parts, { shard, format, seq, id }, () => part)
    },
    async deletePart(shard: number, { seq, id }: PartKey): Promise<void> {
      const part = await parts.get({ shard, format, seq, id })
      if (part) await deleteUnchanged(parts, { shard, format, seq, id }, part.version)
    },
    /** Deletes the parts that were written for snapshots before `seq`, except those with the ids `kept`. */
    async deletePartsBefore(
      shard: number,
      seq: bigint,
      kept: ReadonlySet<string> = new Set(),
    ): Promise<void> {
      const range = { equals: [shard, format], to: seq }
      let page = await parts.find('key', range, { limit: PARTS_PER_DELETE })
      while (page.length > 0) {
        const old = page.filter(({ id }) => !kept.has(id))
        await Promise.all(
          old.map(({ id, seq, version }) => deleteUnchanged(parts, { shard, format, seq, id }, version)),
        )
        const after = { ...page.at(-1) }
        page = await parts.find('key', range, { limit: PARTS_PER_DELETE, after })
      }
    },
  }
}

/** The stored checkpoints of `SNAPSHOT_FORMAT`: one per shard, and briefly two while a new one replaces it. */
export type Checkpoints = Awaited<ReturnType<typeof openCheckpoints>>

/** Opens the collections `checkpoints` and `checkpoint_parts`. */
export async function openCheckpoints(store: Store, signer: Signer) {
  const format = SNAPSHOT_FORMAT
  const heads = await store.collection<SnapshotHead>({
    name: 'checkpoints',
    partition: ['shard'],
    key: ['shard', 'format'],
    indexes: { by_repair: { fields: ['repair_id'], where: 'repair_id', across_partitions: true } },
  })
  return {
    ...(await openSnapshotParts(store, signer, 'checkpoint_parts')),
    getHead: (shard: number): Promise<Stored<SnapshotHead> | undefined> => heads.get({ shard, format }),
    /**
     * Makes this the shard's checkpoint and returns it as stored; `undefined` when another one stays. With `base_version`
     * it replaces that version of the head only: parts of a checkpoint that was replaced since may be gone. Otherwise it
     * replaces an earlier checkpoint, unless that was repaired after the state of this one was loaded, and any that has the
     * version `damaged_version`.
     */
    async advanceHead(
      head: SnapshotHead,
      replaced: { readonly base_version?: number; readonly damaged_version?: number | undefined },
    ): Promise<Stored<SnapshotHead> | undefined> {
      const { base_version, damaged_version } = replaced
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
    /** Deletes the head unless it has another version by now. */
    deleteHead: (shard: number, version: number): Promise<void> =>
      deleteUnchanged(heads, { shard, format }, version),
    /** The last repair of each shard whose checkpoint rests on one, by shard. */
    async listRepairs(): Promise<ReadonlyMap<number, string | undefined>> {
      const repaired = await heads.find('by_repair', {}, { limit: SHARDS })
      return new Map(repaired.map(({ shard, repair_id }) => [shard, repair_id]))
    },
  }
}

/** Whether a later head may replace the current one: its state must not have been loaded before the last repair. */
function isOvertaken(current: SnapshotHead, head: SnapshotHead): boolean {
  return current.seq < head.seq && (current.repair_id === undefined || current.repair_id === head.repair_id)
}
