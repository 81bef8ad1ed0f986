import { expect, test } from '@jest/globals'
import { ShardVerificationStatus } from '#gen/multihub/balances/v1/verification_pb.ts'
import { NOTHING_VERIFIED, type ShardVerification } from '../domain/verification.ts'
import { verificationToProto } from './verification-service.ts'

const verification = { verification_id: 'this', from_first_batch: false, started_at: new Date(1) }

function shardWith(changes: Partial<ShardVerification> & { shard: number }): [number, ShardVerification] {
  const one: ShardVerification = {
    verification_id: 'this',
    status: 'done',
    verified: { seq: 7n, hash: 'h', entries: 9n },
    end_seq: 7n,
    problems: [],
    has_more_problems: false,
    updated_at: new Date(2),
    ...changes,
  }
  return [one.shard, one]
}

const problem = { seq: 8n, place: 'journal', description: 'wrong' } as const

const shards = new Map([
  shardWith({ shard: 0 }),
  shardWith({ shard: 1, status: 'stopped', end_seq: 9n, problems: [problem], has_more_problems: true }),
  shardWith({ shard: 2, status: 'running', lease: { holder: 'p 1', until: new Date(Date.UTC(2100, 0)) } }),
  shardWith({ shard: 3, status: 'running', lease: { holder: 'p 2', until: new Date(0) } }),
  shardWith({ shard: 4, verification_id: 'the one before' }),
  shardWith({ shard: 5, verified: NOTHING_VERIFIED, end_seq: 0n }),
])

test('shows what a verification does with each shard, and each problem', () => {
  const shown = verificationToProto({ verification, is_finished: false, shards })
  expect(shown).toMatchObject({ consistent: false, shardsDone: 3, batches: 35n, entries: 45n })
  expect(shown.problems).toEqual([{ shard: 1, sequence: 8n, description: 'wrong' }])
  expect(shown.endTime).toBeUndefined()
  const { DONE, STOPPED, RUNNING, WAITING } = ShardVerificationStatus
  expect(shown.shards?.map(({ shard, status, holder }) => [shard, status, holder])).toEqual([
    [0, DONE, ''],
    [1, STOPPED, ''],
    [2, RUNNING, 'p 1'],
    [3, WAITING, ''],
    [4, WAITING, ''],
  ])
  expect(shown.shards?.[1]?.hasMoreProblems).toBe(true)
})

test('a verification from the first batch shows nothing of earlier ones', () => {
  const anew = { ...verification, from_first_batch: true }
  const shown = verificationToProto({ verification: anew, is_finished: false, shards })
  expect(shown).toMatchObject({ batches: 28n, entries: 36n })
  expect(shown.shards?.map(({ shard }) => shard)).toEqual([0, 1, 2, 3])
})

test('a finished verification is consistent only without problems', () => {
  const sound = new Map([shardWith({ shard: 0 })])
  expect(verificationToProto({ verification, is_finished: true, shards: sound }).consistent).toBe(true)
  expect(verificationToProto({ verification, is_finished: true, shards }).consistent).toBe(false)
})
