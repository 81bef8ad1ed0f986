import { upsert } from '#lib/patterns/update.ts'
import type { Collection, Store, Stored } from '#lib/platform/store/store.ts'
import type { Hold } from '../domain/ledger-view.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'
import { deleteUnchanged } from './guarded-writes.ts'

/**
 * The format of the documents below and of their digest. It is part of their keys, so that two releases with different
 * formats never read or replace each other's checkpoints.
 */
export const CHECKPOINT_FORMAT = 1

/** The head document of a checkpoint. Its rows are in the part documents. */
export interface CheckpointHead {
  readonly shard: number
  readonly format: number
  readonly seq: bigint
  readonly time: Date
  readonly hash: string
  /** The number of part documents. */
  readonly parts: number
  /** SHA-256 over the other fields and all rows. A checkpoint that does not match it is not used. */
  readonly digest: string
}

/** One document with some of the rows of a checkpoint. `part` counts from 0. */
export interface CheckpointPart {
  readonly shard: number
  readonly format: number
  readonly seq: bigint
  readonly part: number
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
  /** The ids of the holds that were released before they arrived. */
  readonly early_releases: readonly string[]
}

/** The stored checkpoints of `CHECKPOINT_FORMAT`: one per shard, and briefly two while a new one replaces it. */
export interface Checkpoints {
  getHead(shard: number): Promise<Stored<CheckpointHead> | undefined>
  getPart(shard: number, seq: bigint, part: number): Promise<CheckpointPart | undefined>
  /** Writes a part, also over one that a crashed or concurrent save left at the same place. */
  putPart(part: CheckpointPart): Promise<void>
  /**
   * Makes this the shard's checkpoint unless the stored one is the same or a later one. The stored one is replaced
   * in any case while it has the version `damaged_version`.
   */
  advanceHead(head: CheckpointHead, damaged_version?: number): Promise<void>
  /** Deletes some parts of checkpoints before `seq`. Returns whether there may be more of them. */
  deletePartsBefore(shard: number, seq: bigint): Promise<boolean>
  /** Deletes the head unless it has another version by now. */
  deleteHead(shard: number, version: number): Promise<void>
}

/** Most parts deleted at a time. */
const DELETES_MAX = 100

/** Opens the collections `checkpoints` and `checkpoint_parts`. */
export async function openCheckpoints(store: Store): Promise<Checkpoints> {
  const heads = await store.collection<CheckpointHead>({
    name: 'checkpoints',
    partition: ['shard'],
    key: ['shard', 'format'],
  })
  const parts = await store.collection<CheckpointPart>({
    name: 'checkpoint_parts',
    partition: ['shard'],
    key: ['shard', 'format', 'seq', 'part'],
  })
  return createCheckpoints(heads, parts)
}

function createCheckpoints(
  heads: Collection<CheckpointHead>,
  parts: Collection<CheckpointPart>,
): Checkpoints {
  const format = CHECKPOINT_FORMAT
  return {
    getHead: (shard) => heads.get({ shard, format }),
    getPart: (shard, seq, part) => parts.get({ shard, format, seq, part }),
    async putPart(part) {
      const { shard, seq, part: number } = part
      await upsert(parts, { shard, format, seq, part: number }, () => part)
    },
    async advanceHead(head, damaged_version) {
      await upsert(heads, { shard: head.shard, format }, (current) => {
        const is_kept = current && current.seq >= head.seq && current.version !== damaged_version
        return is_kept ? undefined : head
      })
    },
    async deletePartsBefore(shard, seq) {
      const old = await parts.find('key', { equals: [shard, format], to: seq }, { limit: DELETES_MAX })
      await Promise.all(
        old.map(({ part, seq, version }) => deleteUnchanged(parts, { shard, format, seq, part }, version)),
      )
      return old.length === DELETES_MAX
    },
    deleteHead: (shard, version) => deleteUnchanged(heads, { shard, format }, version),
  }
}
