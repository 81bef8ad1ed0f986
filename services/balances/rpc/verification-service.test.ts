import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { ShardVerificationStatus } from '#gen/multihub/balances/v1/verification_pb.ts'
import { now } from '#lib/base/time.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import { adjustment, openRpcs } from './rpcs.fixture.ts'

test('verifies the ledger in the background and reports the progress', async () => {
  await using rpcs = await openRpcs()
  const service = rpcs.verification()
  expect(await rpcs.balances().summarizeLedger({})).toMatchObject({ consistent: false })
  expect((await service.getVerification({})).verification).toBeUndefined()
  await rpcs.balances().adjust(adjustment('op', 500n))
  const before_ms = now().getTime()
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
  const { consistent, verifiedTime } = await rpcs.balances().summarizeLedger({})
  expect(consistent).toBe(true)
  expect(timestampMs(verifiedTime ?? timestampFromMs(0))).toBeGreaterThanOrEqual(before_ms)
})

test('is open to the operator only', async () => {
  await using rpcs = await openRpcs()
  await expect(rpcs.verification('internal').startVerification({})).rejects.toThrow()
  await expect(rpcs.verification('internal').getVerification({})).rejects.toThrow()
})
