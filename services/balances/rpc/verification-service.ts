import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type ShardVerificationSchema,
  ShardVerificationStatus,
  type VerificationSchema,
} from '#gen/multihub/balances/v1/verification_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { SHARDS } from '../domain/shard.ts'
import { isShardDone, type LedgerVerification, type ShardVerification } from '../domain/verification.ts'
import type { Verifications } from '../store/verifications.ts'
import { getVerification, startVerification, type VerificationProgress } from '../use-cases/verification.ts'
import type { Verifier } from '../verification/verifier.ts'

/** Implements `VerificationService`. The verifier of this process begins at once; others follow within seconds. */
export function createVerificationRpc(verifications: Verifications, verifier: Verifier): RpcService {
  return rpcService(VerificationService, {
    startVerification: by(['backoffice'], async ({ fromFirstBatch }) => {
      const progress = await startVerification(verifications, fromFirstBatch)
      verifier.wake()
      return { verification: verificationToProto(progress) }
    }),
    getVerification: by(['backoffice'], async () => {
      const progress = await getVerification(verifications)
      return { verification: progress && verificationToProto(progress) }
    }),
  })
}

/** Maps the progress of a verification for a response. */
export function verificationToProto(
  progress: VerificationProgress,
): MessageInitShape<typeof VerificationSchema> {
  const { verification, is_finished } = progress
  const { verification_id, from_first_batch, started_at } = verification
  // A verification from the first batch does not show results of earlier ones.
  const shards = [...progress.shards.values()].filter(
    (one) => one.verification_id === verification_id || !from_first_batch,
  )
  const problems = shards.flatMap(({ shard, problems }) =>
    problems.map(({ seq, description }) => ({ shard, sequence: seq, description })),
  )
  const last_ms = Math.max(...shards.map(({ updated_at }) => updated_at.getTime()))
  return {
    verificationId: verification_id,
    fromFirstBatch: from_first_batch,
    startTime: timestampFromDate(started_at),
    endTime: is_finished ? timestampFromDate(new Date(last_ms)) : undefined,
    consistent: is_finished && problems.length === 0,
    shardsDone: shards.filter((one) => isShardDone(verification_id, one)).length,
    shardsTotal: SHARDS,
    batches: sumOf(shards, ({ verified }) => verified.seq),
    entries: sumOf(shards, ({ verified }) => verified.entries),
    problems,
    shards: shards
      .filter(({ end_seq, problems }) => end_seq > 0n || problems.length > 0)
      .map((one) => shardToProto(verification, one)),
  }
}

function shardToProto(
  verification: LedgerVerification,
  { lease, ...one }: ShardVerification,
): MessageInitShape<typeof ShardVerificationSchema> {
  const holder = lease && lease.until > now() ? lease.holder : ''
  return {
    shard: one.shard,
    status: statusOf(verification, one, holder),
    verifiedSequence: one.verified.seq,
    verifiedHash: one.verified.hash,
    endSequence: one.end_seq,
    entries: one.verified.entries,
    holder,
    updateTime: timestampFromDate(one.updated_at),
    hasMoreProblems: one.has_more_problems,
  }
}

function statusOf(
  { verification_id }: LedgerVerification,
  one: ShardVerification,
  holder: string,
): ShardVerificationStatus {
  if (!isShardDone(verification_id, one))
    return holder === '' ? ShardVerificationStatus.WAITING : ShardVerificationStatus.RUNNING
  return one.status === 'stopped' ? ShardVerificationStatus.STOPPED : ShardVerificationStatus.DONE
}

function sumOf(shards: readonly ShardVerification[], numberOf: (one: ShardVerification) => bigint): bigint {
  return shards.reduce((sum, one) => sum + numberOf(one), 0n)
}
