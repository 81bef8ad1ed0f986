import { afterAll, describe, expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { Secret } from './secret.ts'
import { claimedAccount, type ReceivedHeaders, signRequest, verifySignedRequest } from './signed-request.ts'

const key = new Secret('0123456789abcdef0123456789abcdef')
const request = {
  account_id: 'acme',
  method: 'GET',
  path: '/provider/v1/operations/k1',
  body: Buffer.alloc(0),
}
const clock = installManualClock(1_700_000_000_000)
afterAll(() => clock[Symbol.dispose]())

describe('a signed request', () => {
  const headers = signRequest(key, request)

  test('has the signature that the documentation shows', () => {
    expect(headers).toEqual({
      'x-provider-account': 'acme',
      'x-provider-timestamp': '1700000000',
      'x-provider-signature': '45a6d15771f1e997f378481a69f63805e0f6c5492fb6a0702a3ca62f9e976963',
    })
  })

  test('is accepted with the same key and content', () => {
    expect(verifySignedRequest(key, request, headers)).toBe(true)
  })

  test.each([
    ['another account', { ...request, account_id: 'acme2' }, headers],
    ['another verb', { ...request, method: 'POST' }, headers],
    ['another path', { ...request, path: `${request.path}?` }, headers],
    ['another body', { ...request, body: Buffer.from(' ') }, headers],
    ['another timestamp', request, { ...headers, 'x-provider-timestamp': '1700000001' }],
    ['a timestamp in another form', request, { ...headers, 'x-provider-timestamp': '01700000000 ' }],
    ['no signature', request, { ...headers, 'x-provider-signature': undefined }],
    ['two signatures', request, { ...headers, 'x-provider-signature': ['a', 'b'] }],
    [
      'upper case',
      request,
      { ...headers, 'x-provider-signature': headers['x-provider-signature']?.toUpperCase() },
    ],
    ['a joined header', request, { ...headers, 'x-provider-account': 'acme, acme' }],
    ['nothing', request, {}],
  ])('is not proved with %s', (_what, changed, given: ReceivedHeaders) => {
    expect(verifySignedRequest(key, changed, given)).toBe(false)
  })

  test('is refused with another key', () => {
    expect(verifySignedRequest(new Secret('f'.repeat(32)), request, headers)).toBe(false)
  })

  test.each([
    [300_000, true],
    [301_000, false],
    [-300_000, true],
    [-301_000, false],
  ])('%i ms later it is fresh: %p', (step_ms, fresh) => {
    clock.stepWall(step_ms)
    const proved = verifySignedRequest(key, request, headers)
    clock.stepWall(-step_ms)
    expect(proved).toBe(fresh)
  })
})

test('claimedAccount returns only well-formed account ids', () => {
  expect(claimedAccount({ 'x-provider-account': 'acme' })).toBe('acme')
  for (const bad of ['', 'Acme', 'a b', '-a', 'a'.repeat(65)]) {
    expect(claimedAccount({ 'x-provider-account': bad })).toBeUndefined()
  }
})
