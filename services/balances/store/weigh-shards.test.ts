import { expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, openFixture } from '../ledger.fixture.ts'
import { weighShards } from './weigh-shards.ts'

const SHARD = shardOf('1000', 'test')

test('a shard weighs the entries that it committed since an instant, and any other 1', async () => {
  await using fixture = await openFixture()
  const began = new Date(clock.now_ms() - 1_000)
  for (const batch of [1, 2, 3])
    await Promise.all([1, 2].map((at) => fixture.ledger.submit('test', credit(`c${batch}-${at}`, 100n))))
  const weights = await weighShards(fixture.opened, began)
  expect(weights).toHaveLength(256)
  expect(weights[SHARD]).toBe(6)
  expect(weights.filter((weight) => weight !== 1)).toEqual([6])
  expect((await weighShards(fixture.opened, new Date(clock.now_ms() + 1_000)))[SHARD]).toBe(1)
})
