import type { Signer } from '#lib/base/crypto/signer.ts'
import { upsert } from '#lib/patterns/update.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import type { Store, Stored } from '#lib/store/store.ts'
import { SHARDS } from '../domain/shard.ts'
import type { LedgerVerification, ShardVerification } from '../domain/verification.ts'
import { openSnapshotParts, type SnapshotHead } from './checkpoints.ts'

/** A snapshot of a shard at a verified batch, from which a verification continues. Its rows are in the parts. */
export interface ResumePoint {
  readonly snapshot: SnapshotHead
  /** The number of entries up to that batch. */
  readonly entries: bigint
}

/** A stored verification of a shard. */
export interface ShardVerificationDocument extends ShardVerification {
  readonly resume_point?: ResumePoint | undefined
  /**
   * A resume point of an earlier verification, beyond the present one: what follows it is verified also when an archive is away. A journal
   * that lacks its batch was cut off there; then the point stays, also when the journal is longer again.
   */
  readonly later_point?: ResumePoint | undefined
}

/** The stored verifications: the present one of the ledger, and for each shard how far it is. */
export type Verifications = Awaited<ReturnType<typeof openVerifications>>

/** The collection `verifications` has one document only. */
const CURRENT = { name: 'current' }

/** Opens the collections `verifications`, `shard_verifications` and `verification_resume_parts`. */
export async function openVerifications(store: Store, signer: Signer) {
  const ledgers = await store.collection<LedgerVerification & typeof CURRENT>({
    name: 'verifications',
    partition: ['name'],
    key: ['name'],
    indexes: ACT_INDEX,
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
    getCurrent: (): Promise<LedgerVerification | undefined> => ledgers.get(CURRENT),
    /** Stores what `decide` returns for the present verification, unless that is `undefined`. Returns the stored one. */
    updateCurrent: (
      decide: (current: LedgerVerification | undefined) => LedgerVerification | undefined,
    ): Promise<LedgerVerification | undefined> =>
      upsert(ledgers, CURRENT, (current) => {
        const next = decide(current)
        return next && { ...next, ...CURRENT }
      }),
    getShard: (shard: number): Promise<Stored<ShardVerificationDocument> | undefined> =>
      shards.get({ shard }),
    /** The shards about which something is stored, by number. */
    async listShards(): Promise<Map<number, Stored<ShardVerificationDocument>>> {
      const documents = await shards.find('by_shard', {}, { limit: SHARDS })
      return new Map(documents.map((document) => [document.shard, document]))
    },
    /** How many problems are known in all shards, by the last verification of each that has ended. */
    async countOpenProblems(): Promise<number> {
      const documents = await shards.find('by_open_problems', {}, { limit: SHARDS })
      return documents.reduce((sum, { open_problems = 0 }) => sum + open_problems, 0)
    },
    /**
     * Stores the verification of a shard over `version`, or the first one without it. Returns `undefined` when another
     * process wrote first.
     */
    async putShard(
      document: ShardVerificationDocument,
      version: number | undefined,
    ): Promise<Stored<ShardVerificationDocument> | undefined> {
      try {
        return await (version === undefined ? shards.insert(document) : shards.replace(document, version))
      } catch (error) {
        if (error instanceof Duplicate || error instanceof Conflict) return undefined
        throw error
      }
    },
    /** The rows of the resume points. */
    resume_parts: await openSnapshotParts(store, signer, 'verification_resume_parts'),
  }
}
