import { describe, expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { effect } from '#lib/patterns/effects/effect.ts'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { useClock } from '#lib/platform/time.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { AttemptRecord, Delivery } from '../domain/delivery.ts'
import { type AttemptParts, afterAttempt, attemptKind } from './attempt.ts'

const AT = new Date('2026-11-21T10:00:00.000Z')
const ATTEMPT = effect({ id: 'd-1:attempt:1', kind: 'attempt', lane: 'timer' }, AT)

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
    state: 'pending',
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

describe('after an attempt', () => {
  test('that succeeded the delivery is done', () => {
    expect(afterAttempt(delivery(), record(1), AT)).toMatchObject({
      state: 'delivered',
      attempts: [{ number: 1, http_status: 200 }],
      effects: [],
    })
  })

  test('that failed there is one more, under an id of its own, within its bounds', () => {
    const failed = afterAttempt(delivery({ attempts: [record(1, failure)] }), record(2, failure), AT)
    expect(failed).toMatchObject({ state: 'pending', effects: [{ id: 'd-1:attempt:3', kind: 'attempt' }] })
    const wait_ms = (failed.effects[0]?.due_at.getTime() ?? 0) - AT.getTime()
    expect(wait_ms).toBeGreaterThanOrEqual(1_000)
    expect(wait_ms).toBeLessThanOrEqual(2_000)
  })

  test.each([1, 3, 10])('the first try and %d retries are all there are', (max_retries) => {
    let current = delivery({ max_retries })
    let tries = 0
    while (current.state === 'pending') {
      tries += 1
      current = afterAttempt({ ...current, effects: [] }, record(tries, failure), AT)
    }
    expect(current).toMatchObject({ state: 'dead', effects: [] })
    expect(tries).toBe(max_retries + 1)
    expect(current.attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: tries }, (_, at) => at + 1),
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

  /** Runs one attempt over these parts, and answers what it made of the delivery and what was posted. */
  async function attempt(parts: Partial<AttemptParts> = {}) {
    const posted: { url: string; body: Uint8Array; timeout_ms: number }[] = []
    const kind = attemptKind({
      eventOf: async () => stored,
      secretOf: async () => secret,
      async post(url, _headers, sent, timeout_ms) {
        posted.push({ url, body: sent, timeout_ms })
        return { http_status: 204 }
      },
      ...parts,
    })
    const outcome = await kind.run(ATTEMPT, { ...delivery(), version: 1 })
    return { posted, after: outcome(delivery()) }
  }

  test('posts the stored bytes within the time of its destination', async () => {
    const { posted, after } = await attempt()
    expect(posted).toEqual([{ url: 'https://shop.example.com/callbacks', body, timeout_ms: 30_000 }])
    expect(after.state).toBe('delivered')
  })

  test.each([200, 201, 204, 299])('is a success with %d', async (http_status) => {
    const { after } = await attempt({ post: async () => ({ http_status }) })
    expect(after).toMatchObject({ state: 'delivered', attempts: [{ http_status }] })
    expect(after.attempts[0]).not.toHaveProperty('failure')
  })

  test.each([100, 199, 300, 301, 302, 304, 307, 400, 404, 410, 429, 500, 503])(
    'is a failure with %d',
    async (http_status) => {
      const { after } = await attempt({ post: async () => ({ http_status }) })
      expect(after).toMatchObject({ state: 'pending', attempts: [{ http_status, failure: 'http_status' }] })
    },
  )

  test('that got no answer says why in a word', async () => {
    const { after } = await attempt({ post: async () => ({ failure: 'timeout' }) })
    expect(after.attempts).toMatchObject([{ number: 1, failure: 'timeout' }])
  })

  test.each<[string, string, Partial<AttemptParts>]>([
    [
      'over 256 KiB',
      'payload_too_large',
      { eventOf: async () => ({ ...stored, body: Buffer.alloc(262_145) }) },
    ],
    ['that is forgotten', 'event_expired', { eventOf: async () => undefined }],
    ['without a secret', 'no_secret', { secretOf: async () => undefined }],
  ])('sends nothing %s, and has failed', async (_what, word, parts) => {
    const { posted, after } = await attempt(parts)
    expect(posted).toEqual([])
    expect(after).toMatchObject({ state: 'pending', attempts: [{ failure: word }] })
  })

  test('sends 256 KiB', async () => {
    const { posted } = await attempt({ eventOf: async () => ({ ...stored, body: Buffer.alloc(262_144) }) })
    expect(posted).toHaveLength(1)
  })

  test.each([
    ['merchants', new PublicError(2002)],
    ['the store', new Unavailable('away')],
  ])('is not used up while %s is away: it waits, and nothing was sent', async (_what, error) => {
    const clock = createManualClock(AT.getTime())
    const restore = useClock(clock)
    try {
      const { posted, after } = await attempt({ secretOf: () => Promise.reject(error) })
      expect(posted).toEqual([])
      expect(after).toMatchObject({
        state: 'pending',
        attempts: [],
        effects: [{ id: ATTEMPT.id, kind: 'attempt', tries: 0, due_at: new Date(AT.getTime() + 10_000) }],
      })
    } finally {
      restore()
    }
  })

  test('that meets a fault is a failed try of the effect, and no attempt', async () => {
    await expect(
      attempt({ secretOf: () => Promise.reject(new Error('sealed for another')) }),
    ).rejects.toThrow()
  })

  test('counts as under way until it has ended, however it ends', async () => {
    const gate = Promise.withResolvers<{ http_status: number }>()
    const kind = attemptKind({
      eventOf: async () => stored,
      secretOf: async () => secret,
      post: () => gate.promise,
    })
    const room = kind.capacity?.() ?? 0
    const running = [1, 2, 3].map(() => kind.run(ATTEMPT, { ...delivery(), version: 1 }))
    expect(kind.capacity?.()).toBe(room - 3)
    gate.reject(new Error('a fault'))
    await Promise.allSettled(running)
    expect(kind.capacity?.()).toBe(room)
  })
})
