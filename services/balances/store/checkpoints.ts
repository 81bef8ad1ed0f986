import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Hold } from '../domain/ledger-view.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'
import { advance, deleteUnchanged, insertOnce } from './guarded-writes.ts'

/** The head document of a checkpoint. Its rows are in the part documents. */
export interface CheckpointHead {
  readonly shard: number
  readonly seq: bigint
  readonly time: Date
  readonly hash: string
  /** The number of part documents. */
  readonly parts: number
}

/** One document with some of the rows of a checkpoint. `part` counts from 0. */
export interface CheckpointPart {
  readonly shard: number
  readonly seq: bigint
  readonly part: number
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
}

/** The stored checkpoints: one per shard, and briefly two while a new one replaces it. */
export interface Checkpoints {
  getHead(shard: number): Promise<CheckpointHead | undefined>
  getPart(shard: number, seq: bigint, part: number): Promise<CheckpointPart | undefined>
  /** Inserts a part. A part that exists already stays as it is. */
  insertPart(part: CheckpointPart): Promise<void>
  /** Makes this the shard's checkpoint unless the stored one is the same or a later one. */
  advanceHead(head: CheckpointHead): Promise<void>
  /** Deletes some parts of checkpoints before `seq`. Returns whether there may be more of them. */
  deletePartsBefore(shard: number, seq: bigint): Promise<boolean>
  deleteHead(shard: number): Promise<void>
}

/** Most parts deleted at a time. */
const DELETES_MAX = 100

/** Opens the collections `checkpoints` and `checkpoint_parts`. */
export async function openCheckpoints(store: Store): Promise<Checkpoints> {
  const heads = await store.collection<CheckpointHead>({
    name: 'checkpoints',
    partition: ['shard'],
    key: ['shard'],
  })
  const parts = await store.collection<CheckpointPart>({
    name: 'checkpoint_parts',
    partition: ['shard'],
    key: ['shard', 'seq', 'part'],
  })
  return createCheckpoints(heads, parts)
}

function createCheckpoints(
  heads: Collection<CheckpointHead>,
  parts: Collection<CheckpointPart>,
): Checkpoints {
  return {
    getHead: (shard) => heads.get({ shard }),
    getPart: (shard, seq, part) => parts.get({ shard, seq, part }),
    insertPart: (part) => insertOnce(parts, part),
    advanceHead: (head) => advance(heads, head),
    async deletePartsBefore(shard, seq) {
      const old = await parts.find('key', { equals: [shard], to: seq }, { limit: DELETES_MAX })
      await Promise.all(
        old.map(({ part, seq, version }) => deleteUnchanged(parts, { shard, seq, part }, version)),
      )
      return old.length === DELETES_MAX
    },
    async deleteHead(shard) {
      const head = await heads.get({ shard })
      if (head) await deleteUnchanged(heads, { shard }, head.version)
    },
  }
}
