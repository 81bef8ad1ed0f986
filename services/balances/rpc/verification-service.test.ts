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

// B4
test('the operator sees the stopped shards and resumes one, with a reason and once per operation', async () => {
  await using rpcs = await openRpcs()
  const service = rpcs.verification()
  const shard = shardOf('1000', 'test')
  const request = {
    shard,
    reason: 'compared with the providers',
    operationId: 'op',
    verificationId: 'v',
    sequence: 3n,
  }
  await expect(service.resumeShard(request)).rejects.toMatchObject({ code: 8801 })
  const found_at = now()
  await rpcs.store.stops.update(shard, () => ({
    shard,
    seq: 3n,
    description: 'altered',
    verification_id: 'v',
    found_at,
    stopped_since: found_at,
    operation_ids: [],
  }))
  expect((await service.getVerification({})).stops).toMatchObject([
    { shard, sequence: 3n, description: 'altered', verificationId: 'v' },
  ])
  const wrong = [
    [{ shard: SHARDS }, 9000],
    [{ reason: '' }, 1005],
    [{ operationId: '' }, 1005],
    [{ verificationId: '' }, 1005],
    [{ sequence: 0n }, 9000],
    [{ verificationId: 'an earlier one' }, 8801],
    [{ sequence: 2n }, 8801],
  ] as const
  for (const [field, code] of wrong)
    await expect(service.resumeShard({ ...request, ...field })).rejects.toMatchObject({ code })
  const { stop } = await service.resumeShard(request)
  expect(stop).toMatchObject({ shard, reason: 'compared with the providers' })
  expect(await service.resumeShard(request)).toMatchObject({ stop })
  expect((await service.getVerification({})).stops).toEqual([])
  await expect(rpcs.verification('internal').resumeShard(request)).rejects.toThrow()
})
