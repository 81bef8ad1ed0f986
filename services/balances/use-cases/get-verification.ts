import { SHARDS } from '../domain/shard.ts'
import { isShardDone, type LedgerVerification, type ShardVerification } from '../domain/verification.ts'
import type { Verifications } from '../store/verifications.ts'

/** The present or last verification of the ledger, and what is stored about each shard, by its number. */
export interface VerificationProgress {
  readonly verification: LedgerVerification
  readonly is_finished: boolean
  readonly shards: ReadonlyMap<number, ShardVerification>
}

/** Reads how far the present or last verification is. `undefined` when there was none. */
export async function getVerification(
  verifications: Verifications,
): Promise<VerificationProgress | undefined> {
  const verification = await verifications.getCurrent()
  if (verification === undefined) return undefined
  const shards = await verifications.listShards()
  return { verification, is_finished: isFinished(verification, shards), shards }
}

/** Whether a verification has nothing left to do in any shard. */
export function isFinished(
  { verification_id }: LedgerVerification,
  shards: ReadonlyMap<number, ShardVerification>,
): boolean {
  return shards.size === SHARDS && [...shards.values()].every((one) => isShardDone(verification_id, one))
}
