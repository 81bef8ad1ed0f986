import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { useClock } from '#lib/platform/time.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { AttemptRecord, Delivery } from '../domain/delivery.ts'
import {
  type AttemptDeliveryDeps,
  bindAttemptDelivery,
  newAttemptEffect,
  recordAttempt,
  retryDelayMs,
} from './attempt-delivery.ts'

const AT = new Date('2026-11-21T10:00:00.000Z')
const ATTEMPT = newAttemptEffect('d-1', 1, AT)
const DAY_MS = 86_400_000

function delivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    delivery_id: 'd-1',
    url: 'https://shop.example.com/callbacks',
    endpoint_id: 'e-1',
    timeout_seconds: 30,
    max_retries: 3,
    retry_delay_seconds: 1,
    merchant_id: '7001',
    environment: 'test',
    event_key: 'p-1:3',
    event: 'payment.completed',
    resource_id: 'p-1',
    status: 'pending',
    attempts: [],
    created_at: AT,
    expires_at: new Date(AT.getTime() + 1_000_000),
    effects: [],
    ...changes,
  }
}

function record(number: number, changes: Partial<AttemptRecord> = {}): AttemptRecord {
  return { number, started_at: AT, duration_ms: 12, http_status: 200, ...changes }
}

const failure = { http_status: 500, failure: 'http_status' }

describe('recording an attempt', () => {
  test('sets the delivery to delivered after a success', () => {
    expect(recordAttempt(delivery(), record(1), AT)).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, http_status: 200 }],
      effects: [],
    })
  })

  test('schedules the next attempt after a failure, with its own id and within the bounds of the delay', () => {
    const failed = recordAttempt(delivery({ attempts: [record(1, failure)] }), record(2, failure), AT)
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
      current = recordAttempt({ ...current, effects: [] }, record(attempts, failure), AT)
    }
    expect(current).toMatchObject({ status: 'dead', effects: [] })
    expect(attempts).toBe(max_retries + 1)
    expect(current.attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: attempts }, (_, at) => at + 1),
    )
  })
})

describe('an attempt', () => {
  const body = Buffer.from('{"id":"1"}')
  const stored = {
    merchant_id: '7001',
    event_key: 'p-1:3',
    event: 'payment.completed',
    body,
    destinations: [],
    created_at: AT,
    expires_at: AT,
  }
  const secret = newSecret()

  /** Runs one attempt, and returns the delivery after it and the requests that were posted. */
  async function attempt(deps: Partial<AttemptDeliveryDeps> = {}) {
    const posted: { url: string; body: Uint8Array; timeout_ms: number }[] = []
    const handler = bindAttemptDelivery({
      findEvent: async () => stored,
      findSecret: async () => secret,
      async post(url, _headers, sent, timeout_ms) {
        posted.push({ url, body: sent, timeout_ms })
        return { http_status: 204 }
      },
      ...deps,
    })
    const outcome = await handler.run(ATTEMPT, { ...delivery(), version: 1 })
    return { posted, after: outcome(delivery()) }
  }

  test('posts the stored bytes with the timeout of its destination', async () => {
    const { posted, after } = await attempt()
    expect(posted).toEqual([{ url: 'https://shop.example.com/callbacks', body, timeout_ms: 30_000 }])
    expect(after.status).toBe('delivered')
  })

  test.each([200, 201, 204, 299])('succeeds with HTTP %d', async (http_status) => {
    const { after } = await attempt({ post: async () => ({ http_status }) })
    expect(after).toMatchObject({ status: 'delivered', attempts: [{ http_status }] })
    expect(after.attempts[0]).not.toHaveProperty('failure')
  })

  test.each([100, 199, 300, 301, 302, 304, 307, 400, 404, 410, 429, 500, 503])(
    'fails with HTTP %d',
    async (http_status) => {
      const { after } = await attempt({ post: async () => ({ http_status }) })
      expect(after).toMatchObject({ status: 'pending', attempts: [{ http_status, failure: 'http_status' }] })
    },
  )

  test('records the reason when there was no response', async () => {
    const { after } = await attempt({ post: async () => ({ failure: 'timeout' }) })
    expect(after.attempts).toMatchObject([{ number: 1, failure: 'timeout' }])
  })

  // N4, N7
  test.each<[string, string, Partial<AttemptDeliveryDeps>]>([
    [
      'a body over 256 KiB',
      'payload_too_large',
      { findEvent: async () => ({ ...stored, body: Buffer.alloc(262_145) }) },
    ],
    ['an expired event', 'event_expired', { findEvent: async () => undefined }],
    ['no secret', 'no_secret', { findSecret: async () => undefined }],
  ])('with %s sends nothing and fails with %s', async (_name, reason, deps) => {
    const { posted, after } = await attempt(deps)
    expect(posted).toEqual([])
    expect(after).toMatchObject({ status: 'pending', attempts: [{ failure: reason }] })
  })

  test('sends a body of exactly 256 KiB', async () => {
    const { posted } = await attempt({ findEvent: async () => ({ ...stored, body: Buffer.alloc(262_144) }) })
    expect(posted).toHaveLength(1)
  })

  test.each([
    ['merchants', new PublicError(2002)],
    ['the store', new Unavailable('unavailable')],
  ])('is postponed by 10 s and not counted while %s is unavailable', async (_name, error) => {
    const clock = createManualClock(AT.getTime())
    const restore = useClock(clock)
    try {
      const { posted, after } = await attempt({ findSecret: () => Promise.reject(error) })
      expect(posted).toEqual([])
      expect(after).toMatchObject({
        status: 'pending',
        attempts: [],
        effects: [
          { id: ATTEMPT.id, kind: 'attempt_delivery', tries: 0, due_at: new Date(AT.getTime() + 10_000) },
        ],
      })
    } finally {
      restore()
    }
  })

  test('rejects on an internal fault, so that the fault counts as a try of the effect and not as an attempt', async () => {
    await expect(
      attempt({ findSecret: () => Promise.reject(new Error('sealed for another context')) }),
    ).rejects.toThrow()
  })

  test('uses capacity until it ends, also when it fails', async () => {
    const gate = Promise.withResolvers<{ http_status: number }>()
    const handler = bindAttemptDelivery({
      findEvent: async () => stored,
      findSecret: async () => secret,
      post: () => gate.promise,
    })
    const capacity = handler.capacity?.() ?? 0
    const running = [1, 2, 3].map(() => handler.run(ATTEMPT, { ...delivery(), version: 1 }))
    expect(handler.capacity?.()).toBe(capacity - 3)
    gate.reject(new Error('a fault'))
    await Promise.allSettled(running)
    expect(handler.capacity?.()).toBe(capacity)
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
      fc.property(attempts, base_seconds, (attempt, base) => {
        const delay_ms = retryDelayMs(attempt, base)
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
    const drawn = Array.from({ length: 2_000 }, () => retryDelayMs(5, 10))
    const [low, high] = [drawn.filter((ms) => ms < 80_000), drawn.filter((ms) => ms >= 80_000)]
    expect(Math.abs(low.length - high.length)).toBeLessThan(300)
  })
})
