import { describe, expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { HttpClient } from '#lib/http/client.ts'
import { type FailureReason, HttpFailure } from '#lib/http/http-failure.ts'
import { installManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import type { AttemptResult } from '../domain/attempt.ts'
import { createPostDelivery } from './post-delivery.ts'

/** A receiver: answers 500 ms after its connection is available, which is 3 s after the call. */
function slowClient(manual: ManualClock): Pick<HttpClient, 'request'> {
  return {
    async request({ createHeaders }) {
      await manual.advance(3_000)
      const headers = createHeaders?.() ?? {}
      await manual.advance(500)
      return { status: 201, headers, body: Buffer.from('ok'), truncated: false }
    },
  }
}

const failing = (kind: HttpFailure['kind'], reason: FailureReason): Pick<HttpClient, 'request'> => ({
  request: () => Promise.reject(new HttpFailure(kind, reason)),
})

/** Posts one delivery with a client; `signed` has the times at which it was signed. */
async function post(
  client: Pick<HttpClient, 'request'>,
  url = 'https://shop.example.com/callbacks',
): Promise<AttemptResult & { signed: Date[] }> {
  const signed: Date[] = []
  const postDelivery = createPostDelivery({ test: client, production: client }, new AbortController().signal)
  const result = await postDelivery({
    url,
    environment: 'production',
    body: Buffer.from('{}'),
    timeout_ms: 30_000,
    sign(started_at) {
      signed.push(started_at)
      return {}
    },
  })
  return { ...result, signed }
}

// N3, N7
test('an attempt is signed, and begins to count, when its connection is available', async () => {
  using manual = installManualClock()
  const began_ms = clock.now_ms()
  const started_at = new Date(began_ms + 3_000)
  expect(await post(slowClient(manual))).toEqual({
    signed: [started_at],
    started_at,
    duration_ms: 500,
    http_status: 201,
    response_start: Buffer.from('ok'),
  })
})

describe('an attempt that ends without a response', () => {
  // N7
  test.each<[HttpFailure['kind'], FailureReason]>([
    ['not_sent', 'busy'],
    ['not_sent', 'no_socket'],
    ['not_sent', 'no_name_server'],
    ['not_sent', 'aborted'],
    ['unknown', 'aborted'],
  ])('does not count when this system is the reason: %s %s', async (kind, reason) => {
    await expect(post(failing(kind, reason))).rejects.toThrow(Unavailable)
  })

  test.each<[HttpFailure['kind'], FailureReason]>([
    ['not_sent', 'dns'],
    ['not_sent', 'refused_address'],
    ['not_sent', 'refused'],
    ['not_sent', 'tls'],
    ['not_sent', 'timeout_connect'],
    ['unknown', 'timeout'],
    ['unknown', 'reset'],
    ['unknown', 'too_large'],
    ['unknown', 'bad_response'],
  ])('is a failure of the receiver otherwise: %s %s', async (kind, reason) => {
    expect(await post(failing(kind, reason))).toMatchObject({ failure: reason })
  })

  test('rejects with an internal error', async () => {
    const client = { request: () => Promise.reject(new TypeError('a fault')) }
    await expect(post(client)).rejects.toThrow(TypeError)
  })
})

// N9
test.each([
  'http://shop.example.com/callbacks',
  'https://shop.example.com:22/',
  'https://shop.localhost/',
  'https://user:pass@shop.example.com/',
  'https://127.1/',
  'file:///etc/passwd',
  '',
])('a stored URL is checked again before each attempt, so nothing is sent to %j', async (url) => {
  const client = { request: () => Promise.reject(new Error('it was sent')) }
  expect(await post(client, url)).toMatchObject({ failure: 'refused_url', signed: [] })
})
