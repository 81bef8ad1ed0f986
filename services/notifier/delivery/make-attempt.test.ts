import { describe, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { AT, delivery } from '../delivery.fixture.ts'
import { placeOfResponse } from '../domain/delivery.ts'
import {
  type AttemptOptions,
  type AttemptOutcome,
  createMakeAttempt,
  type MakeAttemptDeps,
} from './make-attempt.ts'
import { type SignedHeaders, signDelivery } from './sign-delivery.ts'

const SENT = { started_at: AT, duration_ms: 7 }
const body = Buffer.from('{"id":"1"}')
const secret = newSecret()
const address = {
  url: 'https://shop.example.com/moved',
  timeout_seconds: 20,
  max_retries: 1,
  retry_delay_seconds: 2,
}

/** Makes one attempt, and returns its outcome and the requests that were posted. */
async function attempt(deps: Partial<MakeAttemptDeps> = {}, options: Partial<AttemptOptions> = {}) {
  const posted: { url: string; body: Uint8Array; timeout_ms: number; id: string | undefined }[] = []
  const makeAttempt = createMakeAttempt({
    findBody: async () => body,
    findTarget: async () => ({ address, secret }),
    async post({ url, body: sent, timeout_ms, sign }) {
      posted.push({ url, body: sent, timeout_ms, id: sign(AT)['X-Webhook-Id'] })
      return { ...SENT, http_status: 204 }
    },
    person: testKeys().person,
    stopping: new AbortController().signal,
    ...deps,
  })
  const outcome: AttemptOutcome = await makeAttempt(delivery(), { hasLease: () => true, ...options })
  return { posted, outcome }
}

describe('an attempt', () => {
  test('posts the stored bytes under the id of the delivery, to the present address of its destination', async () => {
    const { posted, outcome } = await attempt()
    expect(posted).toEqual([{ url: 'https://shop.example.com/moved', body, timeout_ms: 20_000, id: 'd-1' }])
    expect(outcome).toEqual({ kind: 'ended', address, result: { ...SENT, http_status: 204 } })
  })

  // N3: equal JSON, but other bytes when it is parsed and written again.
  test.each([
    '{ "id": "1" }',
    '{"id":"1"}\n',
    '{"amount":1.0,"id":"1"}',
    '{"id":"\\u0031"}',
    '{"id":12345678901234567890}',
    '{"id":"1","id":"1"}',
    '{"2":0,"1":0}',
  ])('sends and signs the bytes of %s as they are stored', async (text) => {
    const stored = Buffer.from(text)
    let headers: SignedHeaders = {}
    let sent: Uint8Array = Buffer.alloc(0)
    await attempt({
      findBody: async () => stored,
      async post(request) {
        sent = request.body
        headers = request.sign(AT)
        return { ...SENT, http_status: 204 }
      },
    })
    expect(Buffer.from(sent)).toEqual(stored)
    expect(headers).toEqual(signDelivery(stored, secret, 'd-1', AT, headers['X-Webhook-Nonce']))
  })

  // N9
  test('whose endpoint was moved to another host sends nothing, and is due there at once', async () => {
    const moved = { ...address, url: 'https://moved.example.com/callbacks' }
    const { posted, outcome } = await attempt({ findTarget: async () => ({ address: moved, secret }) })
    expect(posted).toEqual([])
    expect(outcome).toEqual({ kind: 'postponed', wait_ms: 0, address: moved })
  })

  test('reads no event when its body is known', async () => {
    const findBody = (): Promise<never> => Promise.reject(new Error('the event was read'))
    expect((await attempt({ findBody }, { body })).posted).toMatchObject([{ body }])
  })

  test('is postponed when the lease has ended while it waited for a connection', async () => {
    let has_lease = true
    const { posted, outcome } = await attempt(
      {
        async findTarget() {
          has_lease = false
          return { address, secret }
        },
      },
      { hasLease: () => has_lease },
    )
    expect(posted).toEqual([])
    expect(outcome).toMatchObject({ kind: 'postponed' })
  })

  test.each([200, 201, 204, 299])('succeeds with HTTP %d', async (http_status) => {
    const { outcome } = await attempt({ post: async () => ({ ...SENT, http_status }) })
    expect(outcome).toEqual({ kind: 'ended', address, result: { ...SENT, http_status } })
  })

  test.each([100, 199, 300, 301, 302, 304, 307, 400, 404, 410, 429, 500, 503])(
    'fails with HTTP %d, and keeps the start of the response, sealed',
    async (http_status) => {
      const response_start = Buffer.from('no')
      const { outcome } = await attempt({ post: async () => ({ ...SENT, http_status, response_start }) })
      expect(outcome).toMatchObject({ kind: 'ended', result: { http_status, failure: 'http_status' } })
      const sealed = outcome.kind === 'ended' ? outcome.result.response_start : undefined
      const { merchant_id, delivery_id } = delivery()
      const opened = testKeys().person.open(
        sealed ?? new Uint8Array(),
        merchant_id,
        placeOfResponse({ delivery_id }),
      )
      expect(Buffer.from(opened)).toEqual(response_start)
      expect(Buffer.from(sealed ?? '').includes(response_start)).toBe(false)
    },
  )

  test('records the reason when there was no response', async () => {
    const { outcome } = await attempt({ post: async () => ({ ...SENT, failure: 'timeout' }) })
    expect(outcome).toMatchObject({ kind: 'ended', result: { failure: 'timeout' } })
  })

  // N4
  test.each<[string, string, Partial<MakeAttemptDeps>]>([
    ['a body over 256 KiB', 'payload_too_large', { findBody: async () => Buffer.alloc(262_145) }],
    ['an expired event', 'event_expired', { findBody: async () => undefined }],
  ])('with %s sends nothing and fails with %s', async (_name, failure, deps) => {
    const { posted, outcome } = await attempt(deps)
    expect(posted).toEqual([])
    expect(outcome).toMatchObject({ kind: 'ended', result: { failure } })
  })

  test('sends a body of exactly 256 KiB', async () => {
    expect((await attempt({ findBody: async () => Buffer.alloc(262_144) })).posted).toHaveLength(1)
  })

  // N7
  test('without a secret sends nothing and is blocked', async () => {
    const { posted, outcome } = await attempt({ findTarget: async () => undefined })
    expect(posted).toEqual([])
    expect(outcome).toEqual({ kind: 'blocked' })
  })

  // N7
  test.each<[string, Partial<MakeAttemptDeps>]>([
    ['merchants is unavailable', { findTarget: () => Promise.reject(new PublicError(2002)) }],
    ['the store is unavailable', { findBody: () => Promise.reject(new Unavailable('unavailable')) }],
    ['there is no connection', { post: () => Promise.reject(new Unavailable('no connection')) }],
  ])('is postponed by 10 s when %s', async (_name, deps) => {
    expect((await attempt(deps)).outcome).toEqual({ kind: 'postponed', wait_ms: 10_000 })
  })

  test('is postponed by a minute after an internal fault', async () => {
    const findTarget = (): Promise<never> => Promise.reject(new Error('sealed for another context'))
    expect((await attempt({ findTarget })).outcome).toEqual({ kind: 'postponed', wait_ms: 60_000 })
  })

  test('that the stop of the process aborts is due again at once', async () => {
    const post = (): Promise<never> => Promise.reject(new Unavailable('the process is stopping'))
    const { outcome } = await attempt({ post, stopping: AbortSignal.abort() })
    expect(outcome).toEqual({ kind: 'postponed', wait_ms: 0 })
  })
})
