import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { AT, delivery } from '../delivery.fixture.ts'
import { recordAttempt, retryDelayMs } from './attempt.ts'
import type { AttemptRecord } from './delivery.ts'

const DAY_MS = 86_400_000

function record(number: number, changes: Partial<AttemptRecord> = {}): AttemptRecord {
  return { number, started_at: AT, duration_ms: 12, http_status: 200, ...changes }
}

const failure = { http_status: 500, failure: 'http_status' } as const

describe('recording an attempt', () => {
  test('sets the delivery to delivered after a success', () => {
    expect(recordAttempt(delivery(), record(1), AT, randomFraction())).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, http_status: 200 }],
      effects: [],
    })
  })

  test('schedules the next attempt after a failure, with its own id and within the bounds of the delay', () => {
    const failed = recordAttempt(
      delivery({ attempts: [record(1, failure)] }),
      record(2, failure),
      AT,
      randomFraction(),
    )
    expect(failed).toMatchObject({
      status: 'pending',
      effects: [{ id: 'd-1:attempt:3', kind: 'attempt_delivery' }],
    })
    const wait_ms = (failed.effects[0]?.due_at.getTime() ?? 0) - AT.getTime()
    expect(wait_ms).toBeGreaterThanOrEqual(1_000)
    expect(wait_ms).toBeLessThanOrEqual(2_000)
  })

  // N2, N6
  test.each([1, 3, 10])('sets the delivery to dead after the first attempt and %d retries', (max_retries) => {
    let current = delivery({ max_retries })
    let attempts = 0
    while (current.status === 'pending') {
      attempts += 1
      current = recordAttempt({ ...current, effects: [] }, record(attempts, failure), AT, randomFraction())
    }
    expect(current).toMatchObject({ status: 'dead', effects: [] })
    expect(attempts).toBe(max_retries + 1)
    expect(current.attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: attempts }, (_, at) => at + 1),
    )
  })
})

// N2
describe('the delay before a retry', () => {
  const attempts = fc.integer({ min: 1, max: 11 })
  const base_seconds = fc.integer({ min: 1, max: 3_600 })
  const random = fc.double({ min: 0, max: 1, noNaN: true })

  test('is min(max(random(0, 2^(attempt-1) * retry_delay_seconds), 1 s), 24 h)', () => {
    fc.assert(
      fc.property(attempts, base_seconds, random, (attempt, base, fraction) => {
        const drawn_ms = fraction * 2 ** (attempt - 1) * base * 1_000
        const expected_ms = Math.min(Math.max(drawn_ms, 1_000), DAY_MS)
        expect(retryDelayMs(attempt, base, fraction)).toBeCloseTo(expected_ms, 3)
      }),
    )
  })

  test('is between a second and a day, and never above its bound', () => {
    fc.assert(
      fc.property(attempts, base_seconds, random, (attempt, base, fraction) => {
        const delay_ms = retryDelayMs(attempt, base, fraction)
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
  ])('after %d attempts with a base of %d s is at least 1 s and at most %d ms', (attempt, base, bound) => {
    expect(retryDelayMs(attempt, base, 1)).toBe(bound)
    expect(retryDelayMs(attempt, base, 0)).toBe(1_000)
  })

  test('is spread evenly over its range', () => {
    const drawn = Array.from({ length: 2_000 }, () => retryDelayMs(5, 10, randomFraction()))
    const [low, high] = [drawn.filter((ms) => ms < 80_000), drawn.filter((ms) => ms >= 80_000)]
    expect(Math.abs(low.length - high.length)).toBeLessThan(300)
  })
})
