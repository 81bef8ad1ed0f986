import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type ShardStopSchema,
  type ShardVerificationSchema,
  ShardVerificationStatus,
  type VerificationSchema,
} from '#gen/multihub/balances/v1/verification_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { isShard, SHARDS } from '../domain/shard.ts'
import type { ShardStop } from '../domain/shard-stop.ts'
import { isShardDone, type LedgerVerification, type ShardVerification } from '../domain/verification.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { resumeShard } from '../use-cases/resume-shard.ts'
import { getVerification, startVerification, type VerificationProgress } from '../use-cases/verification.ts'
import type { Verifier } from '../verification/verifier.ts'

const REASON_MAX = 500

/** Implements `VerificationService`. The verifier of this process begins at once; others follow within seconds. */
export function createVerificationRpc(
  { verifications, stops }: Pick<LedgerStore, 'verifications' | 'stops'>,
  verifier: Pick<Verifier, 'wake'>,
  onStopChanged: () => Promise<void>,
): RpcService {
  return rpcService(VerificationService, {
    startVerification: by(['backoffice'], async ({ fromFirstBatch }) => {
      const progress = await startVerification(verifications, fromFirstBatch)
      verifier.wake()
      return { verification: verificationToProto(progress) }
    }),
    getVerification: by(['backoffice'], async () => {
      const [progress, stopped] = await Promise.all([getVerification(verifications), stops.listStopped()])
      return { verification: progress && verificationToProto(progress), stops: stopped.map(stopToProto) }
    }),
    resumeShard: by(['backoffice'], async ({ shard, reason, operationId, verificationId, sequence }) => {
      if (!isShard(shard)) throw fieldError(9000, 'shard', `a number from 0 to ${SHARDS - 1}`)
      if (sequence <= 0n) throw fieldError(9000, 'sequence', 'the batch, as the stop shows it')
      const stop = await resumeShard(stops, shard, {
        verification_id: requiredId(verificationId, 'verification_id'),
        seq: sequence,
        operation_id: requiredId(operationId, 'operation_id'),
        reason: checkLine(requiredText(reason, 'reason'), 'reason', REASON_MAX),
      })
      await onStopChanged()
      return { stop: stopToProto(stop) }
    }),
  })
}

function stopToProto(stop: ShardStop): MessageInitShape<typeof ShardStopSchema> {
  const { shard, seq, description, verification_id, found_at, ended_at } = stop
  return {
    shard,
    sequence: seq,
    description,
    findTime: timestampFromDate(found_at),
    ...(ended_at && { endTime: timestampFromDate(ended_at) }),
    reason: stop.reason ?? '',
    verificationId: verification_id,
  }
}

/** Maps the progress of a verification for a response. */
export function verificationToProto(
  progress: VerificationProgress,
): MessageInitShape<typeof VerificationSchema> {
  const { verification, is_finished } = progress
  const { verification_id, from_first_batch, started_at, due_at } = verification
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
    ...(due_at && { dueTime: timestampFromDate(due_at) }),
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
