import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { placeRanges } from './place-ranges.ts'

const SERVERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const OWNERS = new Array<string>(256).fill('a')

const moves = (before: readonly string[], after: readonly string[]): number =>
  after.filter((server, range) => server !== before[range]).length

const loadsOf = (
  weights: readonly number[],
  owners: readonly string[],
  servers: readonly string[],
): number[] =>
  servers.map((server) =>
    weights.reduce((sum, weight, at) => (owners[at] === server ? sum + weight : sum), 0),
  )

test('equal ranges are spread evenly, and a new server gets its part from all others', () => {
  const weights = OWNERS.map(() => 1)
  const six = placeRanges(weights, OWNERS, SERVERS.slice(0, 6))
  expect(Math.max(...loadsOf(weights, six, SERVERS.slice(0, 6)))).toBe(43)
  const seven = placeRanges(weights, six, SERVERS)
  expect(Math.max(...loadsOf(weights, seven, SERVERS))).toBe(37)
  expect(moves(six, seven)).toBeLessThanOrEqual(40)
})

test('the busiest ranges are moved apart, and quiet ones stay', () => {
  const weights = OWNERS.map((_, range) => (range % 64 === 0 ? 100_000 - range : 1))
  const placed = placeRanges(weights, OWNERS, SERVERS)
  expect(new Set([0, 64, 128, 192].map((range) => placed[range])).size).toBe(4)
  expect(moves(OWNERS, placed)).toBe(3)
})

test('a server that is not named any more is left', () => {
  const placed = placeRanges([5, 1, 1], ['a', 'z', 'z'], ['a', 'b'])
  expect(placed).toEqual(['a', 'b', 'b'])
})

test('for any weights: the heaviest are on different servers, no server has more than the mean and one more range, and a repetition moves nothing', () => {
  const ranges = fc.array(
    fc.record({ weight: fc.integer({ min: 1, max: 1_000_000 }), owner: fc.constantFrom(...SERVERS) }),
    {
      minLength: SERVERS.length,
      maxLength: 64,
      size: 'max',
    },
  )
  fc.assert(
    fc.property(ranges, fc.integer({ min: 1, max: SERVERS.length }), (given, count) => {
      const servers = SERVERS.slice(0, count)
      const weights = given.map(({ weight }) => weight)
      const placed = placeRanges(
        weights,
        given.map(({ owner }) => owner),
        servers,
      )
      const mean = weights.reduce((sum, weight) => sum + weight, 0) / count
      const heavy = weights
        .map((weight, range) => ({ weight, server: placed[range] }))
        .sort((one, other) => other.weight - one.weight)
        .slice(0, count)
        .filter(({ weight }) => weight > mean / 1_000)
      expect(new Set(heavy.map(({ server }) => server)).size).toBe(heavy.length)
      const quiet = (given.length * mean) / 1_000
      const limit = mean + Math.max(...weights) + quiet
      expect(Math.max(...loadsOf(weights, placed, servers))).toBeLessThanOrEqual(limit)
      expect(placeRanges(weights, placed, servers)).toEqual(placed)
    }),
  )
})
