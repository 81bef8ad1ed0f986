import { expect, test } from '@jest/globals'
import { hashedKey, serverOfHash } from './hashed-key.ts'
import { simulateShards } from './simulate-shards.ts'

/** Ranged, because of their second unique index. What they store is written by people, not by payments. */
const RANGED = ['notifier.listener_deliveries', 'backoffice.audit']

test('the hash of a string is the one that the tests of MongoDB publish', () => {
  expect(hashedKey('abc')).toBe(8478485326885698097n)
  expect(hashedKey('')).toBe(2049396243249673340n)
})

test('each server has an equal part of all hashes', () => {
  const [least, greatest] = [-(2n ** 63n), 2n ** 63n - 1n]
  expect([least, -1n, 0n, greatest].map((hash) => serverOfHash(hash, 4))).toEqual([0, 1, 2, 3])
})

test.each([4, 1_000])(
  'of %d merchants no server gets a quarter of the inserts of a hashed collection',
  async (merchants) => {
    const { spreads, journal } = await simulateShards(merchants, 7, 2_000)
    const spread = spreads.filter(({ shard_key }) => shard_key === '{"_id":"hashed"}')
    expect(spread.length).toBeGreaterThan(20)
    expect(spread.filter(({ largest_part }) => largest_part > 0.25)).toEqual([])
    expect(spreads.filter((one) => !spread.includes(one)).map(({ collection }) => collection)).toEqual(RANGED)
    for (const places of [journal.after, journal.with_new_server]) expect(new Set(places).size).toBe(4)
  },
)
