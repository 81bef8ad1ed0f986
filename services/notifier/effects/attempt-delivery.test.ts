import { describe, expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { AT, delivery } from '../delivery.fixture.ts'
import { newAttemptEffect } from '../domain/attempt.ts'
import { type AttemptDeliveryDeps, bindAttemptDelivery } from './attempt-delivery.ts'

const SENT = { started_at: AT, duration_ms: 7 }
const ATTEMPT = newAttemptEffect('d-1', 1, AT)

describe('an attempt', () => {
  const body = Buffer.from('{"id":"1"}')
  const stored = {
    merchant_id: '7001',
    event_key: 'p-1:3',
    event: 'payment.completed',
    body,
    destinations: [],
    created_at: AT,
    kept_until: AT,
  }
  const secret = newSecret()

  /** Runs one attempt, and returns the delivery after it and the requests that were posted. */
  async function attempt(deps: Partial<AttemptDeliveryDeps> = {}) {
    const posted: { url: string; body: Uint8Array; timeout_ms: number }[] = []
    const handler = bindAttemptDelivery({
      findEvent: async () => stored,
      findSecret: async () => secret,
      async post({ url, body: sent, timeout_ms }) {
        posted.push({ url, body: sent, timeout_ms })
        return { ...SENT, http_status: 204 }
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
    const { after } = await attempt({ post: async () => ({ ...SENT, http_status }) })
    expect(after).toMatchObject({ status: 'delivered', attempts: [{ http_status }] })
    expect(after.attempts[0]).not.toHaveProperty('failure')
  })

  test.each([100, 199, 300, 301, 302, 304, 307, 400, 404, 410, 429, 500, 503])(
    'fails with HTTP %d',
    async (http_status) => {
      const { after } = await attempt({ post: async () => ({ ...SENT, http_status }) })
      expect(after).toMatchObject({ status: 'pending', attempts: [{ http_status, failure: 'http_status' }] })
    },
  )

  test('records the reason when there was no response', async () => {
    const { after } = await attempt({ post: async () => ({ ...SENT, failure: 'timeout' }) })
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
    using _ = installManualClock(AT.getTime())
    const { posted, after } = await attempt({ findSecret: () => Promise.reject(error) })
    expect(posted).toEqual([])
    expect(after).toMatchObject({
      status: 'pending',
      attempts: [],
      effects: [
        { id: ATTEMPT.id, kind: 'attempt_delivery', tries: 0, due_at: new Date(AT.getTime() + 10_000) },
      ],
    })
  })

  test('rejects on an internal fault, so that the fault counts as a try of the effect and not as an attempt', async () => {
    await expect(
      attempt({ findSecret: () => Promise.reject(new Error('sealed for another context')) }),
    ).rejects.toThrow()
  })
})

test('attempts to a receiver that hangs leave room for those of other merchants', () => {
  const { budget } = bindAttemptDelivery({
    findEvent: async () => undefined,
    findSecret: async () => undefined,
    post: async () => ({ ...SENT, http_status: 200 }),
  })
  if (budget === undefined) throw new Error('the effect has no budget')
  while (budget.reserve(delivery()) !== undefined);
  expect(budget.reserve({ ...delivery(), merchant_id: '7002' })).toBeDefined()
})
