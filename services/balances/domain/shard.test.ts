import { expect, test } from '@jest/globals'
import { environmentOfShard, isShard, SHARDS, shardOf } from './shard.ts'

test.each([
  ['1', 107, 235],
  ['1000', 64, 192],
  ['1000000000000042', 81, 209],
  ['merchant', 30, 158],
])('the shards of merchant %j never change', (merchant_id, test_shard, production_shard) => {
  expect(shardOf(merchant_id, 'test')).toBe(test_shard)
  expect(shardOf(merchant_id, 'production')).toBe(production_shard)
})

test.each([-1, 0.5, Number.NaN, SHARDS])('%p is not the number of a shard', (shard) => {
  expect(isShard(shard)).toBe(false)
})

test('test and production never share a shard, and merchants spread over all shards', () => {
  const used = new Set<number>()
  for (let merchant = 0; merchant < 5_000; merchant += 1) {
    for (const environment of ['test', 'production'] as const) {
      const shard = shardOf(String(merchant), environment)
      expect(environmentOfShard(shard)).toBe(environment)
      expect(isShard(shard)).toBe(true)
      used.add(shard)
    }
  }
  expect(used.size).toBe(SHARDS)
})
