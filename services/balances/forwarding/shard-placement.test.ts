import { expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { SHARDS } from '../domain/shard.ts'
import { createShardPlacement, rankShardOwners } from './shard-placement.ts'

const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard)

/** A membership in which no process has given a shard away, unless `givenAway` says so. */
const membershipOf = (
  live: () => readonly string[],
  givenAway: (address: string) => readonly number[] = () => [],
) => ({ live, heartbeatOf: (address: string) => ({ version: 1, given_away: givenAway(address) }) })

function owners(addresses: readonly string[]): (string | undefined)[] {
  return ALL_SHARDS.map((shard) => rankShardOwners(shard, addresses)[0])
}

test('every process has its share, whatever the order of the addresses', () => {
  const addresses = ['balances-0:9000', 'balances-1:9000', 'balances-2:9000']
  const placed = owners(addresses)
  expect(owners(addresses.toReversed())).toEqual(placed)
  for (const address of addresses) {
    const share = placed.filter((owner) => owner === address).length
    expect(share).toBeGreaterThan(SHARDS / 3 / 1.5)
    expect(share).toBeLessThan((SHARDS / 3) * 1.5)
  }
})

test('only the shards of a process move when it joins or leaves', () => {
  const before = owners(['a:1', 'b:2'])
  const after = owners(['a:1', 'b:2', 'c:3'])
  const moved = ALL_SHARDS.filter((shard) => before[shard] !== after[shard])
  expect(moved.length).toBeGreaterThan(0)
  expect(moved.every((shard) => after[shard] === 'c:3')).toBe(true)
})

test('without live processes, or when this process is the first, it decides itself', () => {
  let live: readonly string[] = []
  const placement = createShardPlacement(
    membershipOf(() => live),
    'a:1',
    () => false,
  )
  expect(placement.ownerOf(5)).toBeUndefined()
  live = ['a:1']
  expect(placement.ownerOf(5)).toBeUndefined()
  live = ['b:2']
  expect(placement.ownerOf(5)).toBe('b:2')
})

test('a process that failed for a shard is avoided for that shard for a while', async () => {
  using clock = installManualClock()
  const live = ['a:1', 'b:2', 'c:3']
  const [first = '', second = '', third = ''] = rankShardOwners(5, live)
  const placement = createShardPlacement(
    membershipOf(() => live),
    third,
    () => false,
  )
  expect(placement.ownerOf(5)).toBe(first)
  placement.avoid(5, first, new Error('no response'))
  expect(placement.ownerOf(5)).toBe(second)
  placement.avoid(5, second, new Error('no response'))
  expect(placement.ownerOf(5)).toBeUndefined()
  const other = ALL_SHARDS.find((shard) => shard !== 5 && rankShardOwners(shard, live)[0] === first) ?? 0
  expect(placement.ownerOf(other)).toBe(first)
  await clock.advance(5_000)
  expect(placement.ownerOf(5)).toBe(first)
})

test('the next process owns a shard that this one gives away', () => {
  const live = ['a:1', 'b:2']
  const [first = '', second = ''] = rankShardOwners(5, live)
  let is_given_away = false
  const placement = createShardPlacement(
    membershipOf(() => live),
    first,
    () => is_given_away,
  )
  expect(placement.ownerOf(5)).toBeUndefined()
  is_given_away = true
  expect(placement.ownerOf(5)).toBe(second)
})

// R9
test('no command of a shard is sent to a process that has given it away', () => {
  const live = ['a:1', 'b:2', 'c:3']
  const [first = '', second = '', third = ''] = rankShardOwners(5, live)
  const other = ALL_SHARDS.find((shard) => shard !== 5 && rankShardOwners(shard, live)[0] === first) ?? 0
  const membership = membershipOf(
    () => live,
    (address) => (address === first ? [5] : []),
  )
  expect(createShardPlacement(membership, third, () => false).ownerOf(5)).toBe(second)
  expect(createShardPlacement(membership, second, () => false).ownerOf(5)).toBeUndefined()
  expect(createShardPlacement(membership, third, () => false).ownerOf(other)).toBe(
    rankShardOwners(other, live)[0] === third ? undefined : first,
  )
})
