import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { retryDelay } from './retry.ts'

const DAY_MS = 86_400_000
const attempts = fc.integer({ min: 1, max: 11 })
const base_seconds = fc.integer({ min: 1, max: 3_600 })
const random = fc.double({ min: 0, max: 1, noNaN: true })

describe('the wait before a retry', () => {
  test('is min(max(random(0, 2^(attempt-1) * retry_delay_seconds), 1 s), 24 h)', () => {
    fc.assert(
      fc.property(attempts, base_seconds, random, (attempt, base, drawn) => {
        const drawn_ms = drawn * 2 ** (attempt - 1) * base * 1_000
        expect(retryDelay(attempt, base, drawn)).toBeCloseTo(Math.min(Math.max(drawn_ms, 1_000), DAY_MS), 3)
      }),
    )
  })

  test('is between a second and a day, and never beyond its bound', () => {
    fc.assert(
      fc.property(attempts, base_seconds, (attempt, base) => {
        const delay_ms = retryDelay(attempt, base)
        expect(delay_ms).toBeGreaterThanOrEqual(1_000)
        expect(delay_ms).toBeLessThanOrEqual(Math.min(DAY_MS, 2 ** (attempt - 1) * base * 1_000))
      }),
    )
  })

  test.each([
    [1, 1, 1_000],
    [2, 1, 2_000],
    [3, 1, 4_000],
    [3, 60, 240_000],
    [10, 60, 30_720_000],
    [10, 3_600, DAY_MS],
  ])('after %d tries with a base of %d s is at most %d ms, and at least a second', (attempt, base, bound) => {
    expect(retryDelay(attempt, base, 1)).toBe(bound)
    expect(retryDelay(attempt, base, 0)).toBe(1_000)
  })

  test('is spread over all of its bound', () => {
    const drawn = Array.from({ length: 2_000 }, () => retryDelay(5, 10))
    const [low, high] = [drawn.filter((ms) => ms < 80_000), drawn.filter((ms) => ms >= 80_000)]
    expect(Math.abs(low.length - high.length)).toBeLessThan(300)
  })
})
