import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { AT, delivery } from '../delivery.fixture.ts'
import {
  beginAttempt,
  blockDelivery,
  postponeAttempt,
  queueAgain,
  queueProbe,
  recordAttempt,
  retryDelayMs,
} from './attempt.ts'
import type { AttemptFailure, Delivery } from './delivery.ts'

const DAY_MS = 86_400_000
const SUCCESS = { started_at: AT, duration_ms: 12, http_status: 200 }
const FAILURE = { started_at: AT, duration_ms: 12, http_status: 500, failure: 'http_status' } as const

/** The delivery after its next attempts failed for these reasons. */
function failed(from: Delivery, ...failures: readonly AttemptFailure[]): Delivery {
  return failures.reduce(
    (current, failure) => recordAttempt(current, { started_at: AT, duration_ms: 1, failure }, AT, 0.5),
    from,
  )
}

describe('beginning an attempt', () => {
  test('counts it under the fence, and keeps it due until its result is known', () => {
    const begun = beginAttempt(delivery(), 'lease-1', AT)
    expect(begun).toEqual({
      ...delivery(),
      attempt: { number: 1, started_at: AT, fence: 'lease-1', reclaims: 0 },
    })
  })

  test('that another process left begins it again under its number, five times', () => {
    let current: Delivery | undefined = beginAttempt(failed(delivery(), 'timeout'), 'lease-0', AT)
    for (let reclaims = 1; reclaims <= 5; reclaims += 1) {
      current = current && beginAttempt(current, `lease-${reclaims}`, AT)
      expect(current?.attempt).toEqual({ number: 2, started_at: AT, fence: `lease-${reclaims}`, reclaims })
    }
    expect(current && beginAttempt(current, 'lease-6', AT)).toBeUndefined()
  })
})

describe('recording an attempt', () => {
  test('sets the delivery to delivered after a success', () => {
    const begun = beginAttempt(delivery(), 'lease-1', AT) ?? delivery()
    expect(recordAttempt(begun, SUCCESS, AT, 0.5)).toEqual({
      ...delivery({ status: 'delivered', try_kind: undefined, due_at: undefined }),
      attempts: [{ number: 1, ...SUCCESS }],
      tries: 1,
      attempt: undefined,
    })
  })

  test('schedules a retry after a failure, in its own try_kind and within the bounds of the delay', () => {
    const once = recordAttempt(delivery(), FAILURE, AT, 0.75)
    const twice = recordAttempt(once, FAILURE, AT, 0.75)
    expect(twice).toMatchObject({
      status: 'pending',
      try_kind: 'retry',
      due_at: new Date(AT.getTime() + 1_500),
    })
    expect(twice.attempts.map(({ number }) => number)).toEqual([1, 2])
  })

  // N2, N6
  test.each([1, 3, 10])('sets the delivery to dead after the first try and %d retries', (max_retries) => {
    let current = delivery({ max_retries })
    let attempts = 0
    while (current.status === 'pending') {
      attempts += 1
      current = recordAttempt(current, FAILURE, AT, randomFraction())
    }
    expect(current).toMatchObject({ status: 'dead', try_kind: undefined, due_at: undefined })
    expect(current.waits_since).toBeUndefined()
    expect(attempts).toBe(max_retries + 1)
    expect(current.attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: attempts }, (_, at) => at + 1),
    )
  })

  // N5
  test('holds a dead delivery if the breaker refused one of its tries since it was queued', () => {
    const lost = failed(delivery(), 'timeout', 'breaker_open', 'timeout', 'timeout')
    expect(lost).toMatchObject({ status: 'dead', waits_since: AT })
    const again = queueAgain(lost, AT)
    expect(failed(again, 'timeout', 'timeout', 'timeout', 'timeout').waits_since).toBeUndefined()
  })

  // N5
  test('holds the probe of a breaker again when it fails, however often', () => {
    let current = failed(delivery(), 'breaker_open', 'breaker_open', 'breaker_open', 'breaker_open')
    for (let probe = 0; probe < 10; probe += 1) {
      current = failed(queueProbe(current, AT), 'timeout')
      expect(current).toMatchObject({ status: 'dead', waits_since: AT })
    }
    const again = queueAgain(current, AT)
    expect(failed(again, 'timeout', 'timeout', 'timeout', 'timeout').waits_since).toBeUndefined()
  })

  // N5
  test('gives a probe one try, also when its endpoint permits more retries than before', () => {
    const lost = failed(delivery(), 'breaker_open', 'breaker_open', 'breaker_open', 'breaker_open')
    const probe = { ...queueProbe(lost, AT), max_retries: 10 }
    expect(failed(probe, 'timeout')).toMatchObject({ status: 'dead', waits_since: AT })
  })

  test('keeps the newest 32 attempts, and goes on counting', () => {
    let current = delivery()
    for (let queued = 0; queued < 10; queued += 1)
      current = failed(queueAgain(current, AT), 'timeout', 'timeout', 'timeout', 'timeout')
    expect(current.attempts).toHaveLength(32)
    expect(current.attempts.at(-1)?.number).toBe(40)
  })
})

// N7
test('a postponed attempt is not counted and due later', () => {
  const begun = beginAttempt(delivery(), 'lease-1', AT) ?? delivery()
  expect(postponeAttempt(begun, AT, 10_000)).toEqual({
    ...delivery({ due_at: new Date(AT.getTime() + 10_000) }),
    attempt: undefined,
  })
})

// N7
test('a blocked delivery has used up no try and is a first try again once there is a secret', () => {
  const begun = beginAttempt(delivery(), 'lease-1', AT) ?? delivery()
  const blocked = blockDelivery(begun, AT)
  expect(blocked).toMatchObject({ status: 'blocked', waits_since: AT, tries: 0, attempts: [] })
  expect([blocked.due_at, blocked.attempt]).toEqual([undefined, undefined])
  const later = new Date(AT.getTime() + 60_000)
  expect(queueAgain(blocked, later, blocked.tries)).toMatchObject({
    status: 'pending',
    try_kind: 'first',
    due_at: later,
  })
})

// N5, N6
test('a delivery that is queued again keeps its id and attempts, and gets fresh tries', () => {
  const dead = failed(delivery({ max_retries: 1 }), 'timeout', 'timeout')
  const again = queueAgain(dead, AT)
  expect(again).toMatchObject({
    delivery_id: 'd-1',
    status: 'pending',
    try_kind: 'retry',
    due_at: AT,
    tries: 0,
  })
  expect(again.attempts).toEqual(dead.attempts)
  expect(failed(again, 'timeout').status).toBe('pending')
  expect(failed(queueAgain(dead, AT, 1), 'timeout').status).toBe('dead')
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
