import { createHash } from 'node:crypto'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { testWith } from '../../test/support/needs.ts'
import { opensslSha512 } from '../../test/support/openssl.ts'
import { freshPair } from '../../test/support/sign-request.ts'
import {
  createTestGateway,
  type FixtureOptions,
  OLD_SECRET,
  resendRequest,
  SECRET,
  send,
  signedHeaders,
  type TestRequest,
  v2Request,
} from '../gateway.fixture.ts'
import { resendPath } from '../paths.ts'

const ID = '019aa5b0-7c00-7000-8000-000000000001'
const PATH = resendPath(ID)
const RAW = `{"payment_id": "${ID}", "operation_id": "o1"}`
const scopes = ['webhooks.update']
const payments = { resendCallback: () => ({ deliveryIds: ['d1'] }) }
const V1: FixtureOptions = { payments, credential: { scopes } }
const V2: FixtureOptions = { payments, credential: { scopes, apiVersion: ApiVersion.V2 } }
const WITHOUT_PAIR = resendRequest(ID)

const hashOf = (text: string, secret = SECRET): string =>
  createHash('sha512')
    .update(text + secret)
    .digest('hex')

const sendResend = async (sent: TestRequest, options = V1) =>
  send(await createTestGateway(options), { raw: RAW, ...sent })
const codeOf = async (sent: TestRequest, options = V1) => (await sendResend(sent, options)).body.error?.code

testWith('openssl')(
  'accepts both forms of a hash made by openssl, and signs responses with the v1 hash',
  async () => {
    const { timestamp, nonce } = freshPair()
    const text = `service-merchant-webhook-resend-v1\nPOST\n${PATH}\n${timestamp}\n${nonce}\n\n${RAW}`
    const pair = { 'x-data-timestamp': timestamp, 'x-data-nonce': nonce }
    for (const headers of [
      { 'x-data-hash': opensslSha512(RAW + SECRET) },
      { 'x-data-hash': opensslSha512(text + SECRET), ...pair },
    ]) {
      const response = await sendResend({ path: PATH, headers })
      expect([response.status, response.body.success]).toEqual([200, true])
      expect(response.headers['x-data-hash']).toBe(opensslSha512(response.text + SECRET))
      expect(response.headers).not.toHaveProperty('x-data-signature')
    }
  },
)

test('signs the response with the secret that signed the request', async () => {
  for (const sent of [WITHOUT_PAIR, resendRequest(ID, freshPair())]) {
    const response = await sendResend({ ...sent, secret: OLD_SECRET })
    expect(response.body.success).toBe(true)
    expect(response.headers['x-data-hash']).toBe(hashOf(response.text, OLD_SECRET))
  }
})

// A2
test('refuses a v2 credential without a replay pair after verifying its signature', async () => {
  expect(await codeOf(resendRequest(ID, freshPair()), V2)).toBeUndefined()
  const response = await sendResend(WITHOUT_PAIR, V2)
  expect([response.status, response.body.error?.code]).toEqual([400, 3000])
  expect(response.headers['x-data-hash']).toBe(hashOf(response.text))
  const from_another_address = { ...V2, credential: { ...V2.credential, ipAllowlist: ['::1'] } }
  expect(await codeOf(WITHOUT_PAIR, from_another_address)).toBe(3006)
})

test.each([
  [15, 3000],
  [16, undefined],
  [128, undefined],
])('checks the nonce of a v2 credential by the rules of v2: %i characters', async (length, code) => {
  const sent = resendRequest(ID, { ...freshPair(), nonce: 'n'.repeat(length) })
  const response = await sendResend(sent, V2)
  expect(response.body.error?.code).toBe(code)
  expect(response.headers['x-data-hash']).toBe(hashOf(response.text))
  expect(await codeOf(sent, V1)).toBeUndefined()
  const from_another_address = { ...V2, credential: { ...V2.credential, ipAllowlist: ['::1'] } }
  expect(await codeOf(sent, from_another_address)).toBe(3006)
})

const pair = freshPair()

test.each<[string, TestRequest]>([
  ['a timestamp alone', { ...WITHOUT_PAIR, headers: { 'x-data-timestamp': pair.timestamp } }],
  ['a nonce alone', { ...WITHOUT_PAIR, headers: { 'x-data-nonce': pair.nonce } }],
  ['a malformed timestamp', { ...WITHOUT_PAIR, headers: { 'x-data-timestamp': 'now', 'x-data-nonce': 'n' } }],
  ['a malformed timestamp that is signed', resendRequest(ID, { ...pair, timestamp: '1e9' })],
  ['a malformed nonce that is signed', resendRequest(ID, { ...pair, nonce: 'n n' })],
  ['a nonce of 129 characters that is signed', resendRequest(ID, { ...pair, nonce: 'n'.repeat(129) })],
  [
    'a replay pair that is not signed',
    { ...WITHOUT_PAIR, headers: { 'x-data-timestamp': pair.timestamp, 'x-data-nonce': 'n' } },
  ],
  [
    'a signed replay pair that is not sent',
    { ...resendRequest(ID, pair), headers: { 'x-data-timestamp': undefined, 'x-data-nonce': undefined } },
  ],
  ['a pair signed for another payment', { ...resendRequest('p2', pair), path: PATH }],
  ['a pair of v1', { path: PATH, sign: (payload, secret) => signedHeaders(payload, secret, pair) }],
  [
    'a signature of v2 as its hash',
    {
      path: PATH,
      headers: { 'x-data-hash': v2Request(pair).sign(Buffer.from(RAW), SECRET)['x-data-signature'] },
    },
  ],
  ['a wrong hash', { ...WITHOUT_PAIR, secret: 'wrong' }],
])('refuses %s: 3000, unsigned', async (_what, sent) => {
  for (const options of [V1, V2]) {
    const { status, body, headers } = await sendResend(sent, options)
    expect([status, body.error?.code]).toEqual([400, 3000])
    expect(headers).not.toHaveProperty('x-data-hash')
  }
})

test('ignores a signature in the header of v2', async () => {
  expect(await codeOf({ path: PATH, sign: v2Request().sign })).toBe(3002)
})

test('refuses a change of one byte in any signed part', async () => {
  const app = await createTestGateway(V1)
  const parts = [
    'payment_id',
    'body',
    'x-data-application-id',
    'x-data-timestamp',
    'x-data-nonce',
    'x-data-hash',
  ]
  const bytes = [...'0123456789abcdefXYZ!']
  const places = fc.tuple(fc.constantFrom(...parts), fc.nat(1000), fc.constantFrom(...bytes), fc.boolean())
  await fc.assert(
    fc.asyncProperty(places, async ([part, place, byte, has_pair]) => {
      const changed = (name: string, text: string): string => {
        if (name !== part) return text
        const at = place % text.length
        return text.slice(0, at) + (byte === text[at] ? '~' : byte) + text.slice(at + 1)
      }
      const signed = resendRequest(ID, has_pair ? freshPair() : undefined).sign(Buffer.from(RAW), SECRET)
      const sent_parts = [...Object.keys(signed), 'payment_id', 'body']
      const { body } = await send(app, {
        path: resendPath(changed('payment_id', ID)),
        raw: changed('body', RAW),
        sign: () =>
          Object.fromEntries(Object.entries(signed).map(([name, value]) => [name, changed(name, value)])),
      })
      if (sent_parts.includes(part)) expect([3000, 3001, 3002, 3003, 9000]).toContain(body.error?.code)
      else expect(body.success).toBe(true)
      // Without a replay pair the hash does not cover the path, but the body names the payment.
      if (body.error?.code === 9000) expect([part, has_pair]).toEqual(['payment_id', false])
    }),
    { numRuns: 400 },
  )
})

test.each<[string, TestRequest, number]>([
  ['another verb', { ...WITHOUT_PAIR, verb: 'GET' }, 1007],
  ['a slash at the end', { ...WITHOUT_PAIR, path: `${PATH}/` }, 1001],
  ['an empty id', { ...WITHOUT_PAIR, path: resendPath('') }, 1001],
  ['two ids', { ...WITHOUT_PAIR, path: resendPath(`${ID}/${ID}`) }, 1001],
  ['a path in another case', { ...WITHOUT_PAIR, path: `/api/v1/payments/${ID}/webhook/Resend` }, 1001],
  [
    'a path with a percent-encoded letter',
    { ...WITHOUT_PAIR, path: `/api/v1/payments/${ID}/webhook/%72esend` },
    1001,
  ],
  ['a query', { ...WITHOUT_PAIR, path: `${PATH}?a=1` }, 1003],
  ['an id that is longer than any payment id', { ...resendRequest('a'.repeat(5000)) }, 9000],
  ['an id with a percent-encoded character', { ...WITHOUT_PAIR, path: PATH.replace('019', '%3019') }, 9000],
])('refuses %s', async (_what, sent, code) => {
  expect(await codeOf(sent)).toBe(code)
})

test('requires its scope, and does not exist while it is disabled', async () => {
  const response = await sendResend(WITHOUT_PAIR, { payments, credential: { scopes: ['tickets.read'] } })
  expect([response.status, response.body.error?.code]).toEqual([403, 3008])
  const disabled = await sendResend(WITHOUT_PAIR, {
    payments,
    credential: { scopes, disabledMethods: ['webhook.resend'] },
  })
  expect([disabled.status, disabled.body.error?.code]).toEqual([404, 1002])
  expect(
    await codeOf(WITHOUT_PAIR, { payments, credential: { scopes, disabledMethods: ['payment.in'] } }),
  ).toBeUndefined()
})

test('is not a method of the envelope', async () => {
  const { status, body } = await send(await createTestGateway(V1), {
    body: { method: 'webhook.resend', params: {} },
  })
  expect([status, body.error?.code]).toEqual([404, 1002])
})
