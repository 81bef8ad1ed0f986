import { expect, test } from '@jest/globals'
import { ShardVerificationStatus } from '#gen/multihub/balances/v1/verification_pb.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import { adjustment, openRpcs } from './rpcs.fixture.ts'

test('verifies the ledger in the background and reports the progress', async () => {
  await using rpcs = await openRpcs()
  const service = rpcs.verification()
  expect((await service.getVerification({})).verification).toBeUndefined()
  await rpcs.balances().adjust(adjustment('op', 500n))
  const started = await service.startVerification({ fromFirstBatch: true })
  expect(started.verification).toMatchObject({ fromFirstBatch: true, consistent: false, shardsTotal: SHARDS })
  const { verification } = await eventually(
    () => service.getVerification({}),
    (response) => response?.verification?.endTime !== undefined,
  )
  expect(verification).toMatchObject({
    verificationId: started.verification?.verificationId,
    consistent: true,
    shardsDone: SHARDS,
    batches: 1n,
    entries: 1n,
    problems: [],
    shards: [
      {
        shard: shardOf('1000', 'test'),
        status: ShardVerificationStatus.DONE,
        verifiedSequence: 1n,
        verifiedHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        endSequence: 1n,
        entries: 1n,
        holder: '',
      },
    ],
  })
})

test('is open to the operator only', async () => {
  await using rpcs = await openRpcs()
  await expect(rpcs.verification('internal').startVerification({})).rejects.toThrow()
  await expect(rpcs.verification('internal').getVerification({})).rejects.toThrow()
})
