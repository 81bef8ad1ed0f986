import { expect, test } from '@jest/globals'
import type { Verdict } from './breaker.ts'
import type { AttemptFailure } from './delivery.ts'
import { destinationKeyOf } from './destination.ts'
import { judgeAttempt } from './judge-attempt.ts'

const ORIGIN = destinationKeyOf('7001', 'test', { url: 'https://shop.example.com/' })

// N5 (3)
test.each<[AttemptFailure | undefined, number | undefined, Verdict]>([
  [undefined, 204, 'success'],
  ['dns', undefined, 'failure'],
  ['refused', undefined, 'failure'],
  ['tls', undefined, 'failure'],
  ['timeout_connect', undefined, 'failure'],
  ['timeout', undefined, 'failure'],
  ['reset', undefined, 'failure'],
  ['http_status', 429, 'failure'],
  ['http_status', 500, 'server_error'],
  ['http_status', 503, 'server_error'],
  ['http_status', 302, 'unrelated'],
  ['http_status', 404, 'unrelated'],
  ['http_status', 410, 'unrelated'],
  ['bad_response', undefined, 'unrelated'],
  ['too_large', undefined, 'unrelated'],
  ['refused_url', undefined, 'unrelated'],
  ['event_expired', undefined, 'unrelated'],
])('an attempt with %s and HTTP %s is judged as %s at an origin', (failure, http_status, verdict) => {
  expect(judgeAttempt(ORIGIN, { failure, http_status })).toBe(verdict)
  expect(judgeAttempt('endpoint:1', { failure, http_status })).toBe(
    failure === undefined ? 'success' : 'failure',
  )
})

test('URLs of one origin, merchant and environment are one destination', () => {
  const keyOf = (url: string, merchant_id = '7001', environment: 'test' | 'production' = 'test') =>
    destinationKeyOf(merchant_id, environment, { url })
  for (const url of ['https://shop.example.com/a?order=1', 'https://SHOP.example.com:443/b'])
    expect(keyOf(url)).toBe(ORIGIN)
  const others = [
    'http://shop.example.com/',
    'https://shop.example.com:8443/',
    'https://pay.shop.example.com/',
  ]
  const keys = [ORIGIN, ...others.map((url) => keyOf(url))]
  keys.push(
    keyOf('https://shop.example.com/', '7002'),
    keyOf('https://shop.example.com/', '7001', 'production'),
  )
  expect(new Set(keys).size).toBe(keys.length)
})
