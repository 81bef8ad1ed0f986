import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { backoffDelay } from './backoff.ts'

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 10_000 }), fc.nat(1_000_000))
  .map(([first_ms, more_ms]) => ({ first_ms, max_ms: first_ms + more_ms }))
const failures = fc.integer({ min: 1, max: 5_000 })
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('the pause before the next try', () => {
  test('is the random share of a limit that doubles up to the maximum', () => {
    fc.assert(
      fc.property(failures, bounds, random, (tries, within, drawn) => {
        const limit_ms = Math.min(within.first_ms * 2 ** (tries - 1), within.max_ms)
        expect(backoffDelay(tries, within, drawn)).toBeCloseTo(drawn * limit_ms, 6)
      }),
    )
  })

  test('has limits that double from the first one to the maximum', () => {
    const limits = [1, 2, 3, 4, 5, 6].map((tries) => backoffDelay(tries, { first_ms: 100, max_ms: 1_000 }, 1))
    expect(limits).toEqual([100, 200, 400, 800, 1_000, 1_000])
  })
})
