import { upsert } from '#lib/patterns/update.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Store, Stored } from '#lib/store/store.ts'
import { SHARDS } from '../domain/shard.ts'
import type { LedgerVerification, ShardVerification } from '../domain/verification.ts'
import { openSnapshotParts, type SnapshotHead, type SnapshotPartCollection } from './checkpoints.ts'

/** A snapshot of a shard at a verified batch, from which a verification continues. Its rows are in the parts. */
export interface ResumePoint {
  readonly snapshot: SnapshotHead
  /** The number of entries up to that batch. */
  readonly entries: bigint
}

/** A stored verification of a shard. */
export interface ShardVerificationDocument extends ShardVerification {
  readonly resume_point?: ResumePoint
}

/** The stored verifications: the present one of the ledger, and for each shard how far it is. */
export interface Verifications {
  getCurrent(): Promise<LedgerVerification | undefined>
  /** Stores what `decide` returns for the present verification, unless that is `undefined`. Returns the stored one. */
  updateCurrent(
    decide: (current: LedgerVerification | undefined) => LedgerVerification | undefined,
  ): Promise<LedgerVerification | undefined>
  /** The shards of which something is stored, by number. */
  listShards(): Promise<Map<number, Stored<ShardVerificationDocument>>>
  /** How many problems are known in all shards, by the last verification of each that has ended. */
  countOpenProblems(): Promise<number>
  /**
   * Stores the verification of a shard over `version`, or the first one without it. Returns `undefined` when another
   * process wrote first.
   */
  putShard(
    document: ShardVerificationDocument,
    version: number | undefined,
  ): Promise<Stored<ShardVerificationDocument> | undefined>
  /** The rows of the resume points. */
  readonly resume_parts: SnapshotPartCollection
}

/** The collection `verifications` has one document only. */
const CURRENT = { name: 'current' }

/** Opens the collections `verifications`, `shard_verifications` and `verification_resume_parts`. */
export async function openVerifications(store: Store): Promise<Verifications> {
  const ledgers = await store.collection<LedgerVerification & typeof CURRENT>({
    name: 'verifications',
    partition: ['name'],
    key: ['name'],
  })
  const shards = await store.collection<ShardVerificationDocument>({
    name: 'shard_verifications',
    partition: ['shard'],
    key: ['shard'],
    indexes: {
      by_shard: { fields: ['shard'], across_partitions: true },
      by_open_problems: { fields: ['open_problems'], where: 'open_problems', across_partitions: true },
    },
  })
  return {
    getCurrent: () => ledgers.get(CURRENT),
    updateCurrent: (decide) =>
      upsert(ledgers, CURRENT, (current) => {
        const next = decide(current)
        return next && { ...next, ...CURRENT }
      }),
    async listShards() {
      const documents = await shards.find('by_shard', {}, { limit: SHARDS })
      return new Map(documents.map((document) => [document.shard, document]))
    },
    async countOpenProblems() {
      const documents = await shards.find('by_open_problems', {}, { limit: SHARDS })
      return documents.reduce((sum, { open_problems = 0 }) => sum + open_problems, 0)
    },
    async putShard(document, version) {
      try {
        return await (version === undefined ? shards.insert(document) : shards.replace(document, version))
      } catch (error) {
        if (error instanceof Duplicate || error instanceof Conflict) return undefined
        throw error
      }
    },
    resume_parts: await openSnapshotParts(store, 'verification_resume_parts'),
  }
}
