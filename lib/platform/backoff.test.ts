import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { backoffDelay, conflictDelay } from './backoff.ts'

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 10_000 }), fc.nat(1_000_000))
  .map(([first_ms, more_ms]) => ({ first_ms, max_ms: first_ms + more_ms }))
const failures = fc.integer({ min: 1, max: 5_000 })
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('the pause after a failure', () => {
  test('lies between half of the limit and the limit, which never passes the maximum', () => {
    fc.assert(
      fc.property(failures, bounds, random, (tries, within, drawn) => {
        const limit_ms = Math.min(within.first_ms * 2 ** (tries - 1), within.max_ms)
        const delay_ms = backoffDelay(tries, within, drawn)
        expect(delay_ms).toBeGreaterThanOrEqual(limit_ms / 2)
        expect(delay_ms).toBeLessThanOrEqual(limit_ms)
      }),
    )
  })

  test('grows with the number of failures and with the random number', () => {
    fc.assert(
      fc.property(failures, bounds, random, random, (tries, within, one, other) => {
        expect(backoffDelay(tries + 1, within, one)).toBeGreaterThanOrEqual(backoffDelay(tries, within, one))
        const [low, high] = [Math.min(one, other), Math.max(one, other)]
        expect(backoffDelay(tries, within, high)).toBeGreaterThanOrEqual(backoffDelay(tries, within, low))
      }),
    )
  })

  test('doubles from the first limit to the maximum', () => {
    const limits = [1, 2, 3, 4, 5, 6].map((tries) => backoffDelay(tries, { first_ms: 100, max_ms: 1_000 }, 1))
    expect(limits).toEqual([100, 200, 400, 800, 1_000, 1_000])
  })
})

describe('the pause after a lost race', () => {
  test('lies between 0 and the same limit', () => {
    fc.assert(
      fc.property(failures, bounds, random, (conflicts, within, drawn) => {
        const delay_ms = conflictDelay(conflicts, within, drawn)
        expect(delay_ms).toBeGreaterThanOrEqual(0)
        expect(delay_ms).toBeLessThanOrEqual(Math.min(within.first_ms * 2 ** (conflicts - 1), within.max_ms))
      }),
    )
  })
})
