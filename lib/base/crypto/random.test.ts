import { expect, test } from '@jest/globals'
import { randomBytes, randomFraction, randomHex, useRandomness } from './random.ts'

test('bytes never repeat, also across the ends of the pool and beyond its size', () => {
  const pieces = Array.from({ length: 2_000 }, () => randomHex(16))
  expect(new Set(pieces).size).toBe(pieces.length)
  expect(randomBytes(20_000)).toHaveLength(20_000)
  expect(new Set(randomBytes(20_000)).size).toBe(256)
  expect(randomBytes(0)).toHaveLength(0)
})

test('bytes belong to the caller: later calls do not change them', () => {
  const first = randomBytes(32)
  const copy = Buffer.from(first)
  for (let number = 0; number < 1_000; number += 1) randomBytes(32).fill(0)
  expect(first.equals(copy)).toBe(true)
})

test('a fraction is in [0, 1) at both extremes of the source', () => {
  const ends = [0x00, 0xff].map((byte) => {
    const restore = useRandomness((target) => void target.fill(byte))
    const fraction = randomFraction()
    restore()
    return fraction
  })
  expect(ends[0]).toBe(0)
  expect(ends[1]).toBeLessThan(1)
  expect(ends[1]).toBeGreaterThan(0.999_999)
})

test('another source gives its own bytes, and none of them remain in the pool afterwards', () => {
  const draw = (): string => {
    const restore = useRandomness((target) => void target.fill(7))
    const drawn = randomHex(8)
    restore()
    return drawn
  }
  expect(draw()).toBe(draw())
  expect(randomHex(8)).not.toBe('07'.repeat(8))
})
