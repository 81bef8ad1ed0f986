import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { pollIntervalMs } from './connector.ts'

const HTTP = { first_ms: 60_000, max_ms: 300_000 }

test.each([
  ['that just began', 0, 60_000],
  ['of two minutes', 120_000, 60_000],
  ['of four minutes', 240_000, 120_000],
  ['of ten minutes', 600_000, 300_000],
  ['of a month', 30 * 24 * 3_600_000, 300_000],
])('an attempt %s is polled again after the time that its age asks for', (_age, age_ms, expected) => {
  expect(pollIntervalMs(HTTP, age_ms, 0)).toBe(expected)
})

test('jitter makes an interval at most a tenth longer, and never shorter', () => {
  fc.assert(
    fc.property(fc.nat(10_000_000), fc.double({ min: 0, max: 0.999, noNaN: true }), (age_ms, random) => {
      const [plain, jittered] = [pollIntervalMs(HTTP, age_ms, 0), pollIntervalMs(HTTP, age_ms, random)]
      expect(jittered).toBeGreaterThanOrEqual(plain)
      expect(jittered).toBeLessThanOrEqual(Math.round(plain * 1.1))
    }),
  )
})
