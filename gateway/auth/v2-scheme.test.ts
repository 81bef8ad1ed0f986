import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { clock } from '#lib/base/time.ts'
import { testWith } from '../../test/support/needs.ts'
import { opensslHmac } from '../../test/support/openssl.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { freshPair } from '../../test/support/sign-request.ts'
import { openTestStore } from '../../test/support/store.ts'
import {
  APPLICATION_ID,
  createTestGateway,
  type FixtureOptions,
  OLD_SECRET,
  SECRET,
  send,
  signedHeaders,
  type TestRequest,
  type TestResponse,
  v2Request,
} from '../gateway.fixture.ts'
import { V1_PATH, V2_PATH } from '../paths.ts'

const PING = '{"method":"gateway.ping","params":{}}'
const V2 = { credential: { apiVersion: ApiVersion.V2 } }

const test_store = await openTestStore()
afterAll(async () => test_store[Symbol.asyncDispose]())

const now_s = (): string => String(Math.floor(clock.now_ms() / 1000))
const codeOf = async (sent: TestRequest, options: FixtureOptions = V2): Promise<number | undefined> =>
  (await send(await createTestGateway(options), { ...v2Request(), ...sent })).body.error?.code

const hmac = (text: string, secret = SECRET): string =>
  createHmac('sha512', secret).update(text).digest('hex')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The text that the signature of a response must cover (spec: v2 request headers). */
function responseText({ text, status, headers }: TestResponse, nonce: string): string {
  const lines = [
    'service-multihub-response-v2',
    APPLICATION_ID,
    nonce,
    headers['x-request-id'],
    status,
    sha256(text),
  ]
  return lines.join('\n')
}

const responseSignature = (response: TestResponse, nonce: string, secret = SECRET): string =>
  hmac(responseText(response, nonce), secret)

testWith('openssl')(
  'accepts a signature made by openssl, and signs responses and refusals as openssl does',
  async () => {
    const app = await createTestGateway(V2)
    for (const raw of [PING, '{', '{"method":"none"}']) {
      const { timestamp, nonce } = freshPair()
      const lines = [
        'service-multihub-request-v2',
        APPLICATION_ID,
        'POST',
        V2_PATH,
        timestamp,
        nonce,
        sha256(raw),
      ]
      const headers = {
        'content-type': 'application/json',
        'x-data-application-id': APPLICATION_ID,
        'x-data-timestamp': timestamp,
        'x-data-nonce': nonce,
        'x-data-signature': opensslHmac('sha512', SECRET, lines.join('\n')),
      }
      const response = await send(app, { raw, path: V2_PATH, sign: () => headers })
      expect(response.body.success).toBe(raw === PING)
      const signature = opensslHmac('sha512', SECRET, responseText(response, nonce))
      expect(response.headers['x-data-signature']).toBe(signature)
      expect(response.headers['x-data-hash']).toBeUndefined()
    }
  },
)

// A9
test('accepts the envelope of v1', async () => {
  const app = await createTestGateway({ ...V2, balances: { getBalances: () => ({}) } })
  const { body } = await send(app, { ...v2Request(), body: { method: 'balance.get', params: {} } })
  expect(body.result).toMatchObject({ balance: { id: 7001 } })
})

test('accepts both secrets of a rotation, and signs the response with the secret of the request', async () => {
  const app = await createTestGateway(V2)
  for (const secret of [SECRET, OLD_SECRET]) {
    const pair = freshPair()
    const response = await send(app, { ...v2Request(pair), secret })
    expect(response.body.success).toBe(true)
    expect(response.headers['x-data-signature']).toBe(responseSignature(response, pair.nonce, secret))
  }
  expect(await codeOf({ secret: OLD_SECRET }, { ...V2, old_secret_expires_ms: clock.now_ms() })).toBe(3000)
})

const visible = 'abcdefgh-_.~!$&*=:;@/[]{}<>?%^|`"\''

test.each<[string, Record<string, string | undefined>, number]>([
  ['no application id', { 'x-data-application-id': undefined }, 3001],
  ['an application id with a sign', { 'x-data-application-id': '+1001' }, 3001],
  ['no signature', { 'x-data-signature': undefined }, 3002],
  ['an empty signature', { 'x-data-signature': '' }, 3002],
  ['a signature in upper case', { 'x-data-signature': 'AB'.repeat(64) }, 3002],
  ['a signature of 127 characters', { 'x-data-signature': 'a'.repeat(127) }, 3002],
  ['a hash instead', { 'x-data-signature': undefined, 'x-data-hash': 'a'.repeat(128) }, 3002],
  ['neither signature nor pair', { 'x-data-signature': undefined, 'x-data-nonce': undefined }, 3002],
  ['an unknown application', { 'x-data-application-id': '9' }, 3003],
  [
    'an unknown application without a pair',
    { 'x-data-application-id': '9', 'x-data-nonce': undefined },
    3003,
  ],
  ['a wrong signature', { 'x-data-signature': 'ab'.repeat(64) }, 3000],
  ['no timestamp', { 'x-data-timestamp': undefined }, 3000],
  ['no nonce', { 'x-data-nonce': undefined }, 3000],
  ['no pair', { 'x-data-timestamp': undefined, 'x-data-nonce': undefined }, 3000],
  ['an empty timestamp', { 'x-data-timestamp': '' }, 3000],
  ['a timestamp of 13 digits', { 'x-data-timestamp': '1'.repeat(13) }, 3000],
  ['a timestamp with a sign', { 'x-data-timestamp': '-1' }, 3000],
  ['a nonce of 15 characters', { 'x-data-nonce': 'n'.repeat(15) }, 3000],
  ['a nonce of 129 characters', { 'x-data-nonce': 'n'.repeat(129) }, 3000],
  ['a nonce with a blank', { 'x-data-nonce': `${'n'.repeat(20)} n` }, 3000],
  ['a nonce beyond ASCII', { 'x-data-nonce': `${'n'.repeat(20)}\u00e9` }, 3000],
])('refuses %s, unsigned', async (_what, headers, code) => {
  const {
    body,
    headers: shown,
    status,
  } = await send(await createTestGateway(V2), { ...v2Request(), headers })
  expect([status, body.error?.code]).toEqual([400, code])
  expect(shown).not.toHaveProperty('x-data-signature')
  expect(shown).not.toHaveProperty('x-data-hash')
})

test.each<[string, { timestamp?: string; nonce?: string }, number | undefined]>([
  ['a nonce of 16 characters', { nonce: 'n'.repeat(16) }, undefined],
  ['a nonce of 128 characters', { nonce: '~'.repeat(128) }, undefined],
  ['a nonce of every kind of sign', { nonce: visible }, undefined],
  ['a short nonce, although it is signed', { nonce: 'n'.repeat(15) }, 3000],
  ['a long nonce, although it is signed', { nonce: 'n'.repeat(129) }, 3000],
  ['a timestamp with leading zeros', { timestamp: `00${now_s()}` }, undefined],
  ['milliseconds, although they are signed', { timestamp: `${now_s()}000` }, 3000],
])('checks %s', async (_what, given, code) => {
  expect(await codeOf(v2Request({ ...freshPair(), ...given }))).toBe(code)
})

// A4
test('refuses a repeated header', async () => {
  const app = await createTestGateway(V2)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const address = app.server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const headers = Object.entries(v2Request().sign(Buffer.from(PING), SECRET))
  const codeOfRepeated = async (repeated: string): Promise<unknown> => {
    const lines = headers.flatMap(([name, value]) =>
      name === repeated ? [name, value, name, value] : [name, value],
    )
    const sent = request({
      port,
      host: '127.0.0.1',
      path: V2_PATH,
      method: 'POST',
      headers: ['host', 'a', ...lines],
    })
    sent.end(PING)
    const [response] = await once(sent, 'response')
    return JSON.parse((await response.toArray()).join('')).error?.code
  }
  expect(await codeOfRepeated('x-data-application-id')).toBe(3001)
  expect(await codeOfRepeated('x-data-signature')).toBe(3002)
  expect(await codeOfRepeated('x-data-timestamp')).toBe(3000)
  expect(await codeOfRepeated('x-data-nonce')).toBe(3000)
  expect(await codeOfRepeated('none')).toBeUndefined()
  app.server.closeAllConnections()
  await app.close()
})

test('refuses a change of one byte in any signed part', async () => {
  const app = await createTestGateway(V2)
  const parts = [
    'path',
    'body',
    'x-data-application-id',
    'x-data-timestamp',
    'x-data-nonce',
    'x-data-signature',
  ]
  const bytes = [...'0123456789abcdefXYZ!']
  const places = fc.tuple(fc.constantFrom(...parts), fc.nat(1000), fc.constantFrom(...bytes))
  await fc.assert(
    fc.asyncProperty(places, async ([part, place, byte]) => {
      const changed = (name: string, text: string): string => {
        if (name !== part) return text
        const at = place % text.length
        return text.slice(0, at) + (byte === text[at] ? '~' : byte) + text.slice(at + 1)
      }
      const headers = Object.entries(v2Request().sign(Buffer.from(PING), SECRET))
      const { body } = await send(app, {
        path: `/${changed('path', V2_PATH.slice(1))}`,
        raw: changed('body', PING),
        sign: () => Object.fromEntries(headers.map(([name, value]) => [name, changed(name, value)])),
      })
      expect([1001, 1003, 3000, 3001, 3002, 3003]).toContain(body.error?.code)
    }),
    { numRuns: propertyRuns(500) },
  )
})

test('refuses a signature over another path, verb or prefix with 3000', async () => {
  const pair = freshPair()
  const good = [
    'service-multihub-request-v2',
    APPLICATION_ID,
    'POST',
    V2_PATH,
    pair.timestamp,
    pair.nonce,
    sha256(PING),
  ]
  const withLine = (place: number, line: string): string => good.with(place, line).join('\n')
  for (const text of [
    withLine(0, 'service-multihub-response-v2'),
    withLine(2, 'PUT'),
    withLine(3, V1_PATH),
    withLine(3, `${V2_PATH}/`),
    `${good.join('\n')}\n`,
    good.join('\r\n'),
    good.slice(0, 6).join('\n'),
  ]) {
    const headers = { 'x-data-signature': hmac(text) }
    expect(await codeOf({ ...v2Request(pair), raw: PING, headers })).toBe(3000)
  }
  expect(
    await codeOf({ ...v2Request(pair), raw: PING, headers: { 'x-data-signature': hmac(good.join('\n')) } }),
  ).toBe(undefined)
})

test('refuses the signature of the other version', async () => {
  const hash = signedHeaders(PING)['x-data-hash'] ?? ''
  const signature = v2Request().sign(Buffer.from(PING), SECRET)['x-data-signature'] ?? ''
  expect(await codeOf({ raw: PING, headers: { 'x-data-signature': hash } })).toBe(3000)
  const as_hash = { path: V1_PATH, sign: signedHeaders, raw: PING, headers: { 'x-data-hash': signature } }
  for (const options of [{}, V2]) expect(await codeOf(as_hash, options)).toBe(3000)
})

// A2
test('refuses a credential of the other version with 3008, signed by the scheme of the path', async () => {
  const pair = freshPair()
  const v1_on_v2 = await send(await createTestGateway(), v2Request(pair))
  expect([v1_on_v2.status, v1_on_v2.body.error?.code]).toEqual([403, 3008])
  expect(v1_on_v2.headers['x-data-signature']).toBe(responseSignature(v1_on_v2, pair.nonce))
  expect(v1_on_v2.headers).not.toHaveProperty('x-data-hash')
  const v2_on_v1 = await send(await createTestGateway(V2), {})
  expect([v2_on_v1.status, v2_on_v1.body.error?.code]).toEqual([403, 3008])
  expect(v2_on_v1.headers['x-data-hash']).toBe(signedHeaders(v2_on_v1.text)['x-data-hash'])
  expect(v2_on_v1.headers).not.toHaveProperty('x-data-signature')
})

// E13
test('refuses a request whose nonce cannot be checked with 2002, HTTP 503, signed', async () => {
  const app = await createTestGateway({ ...V2, store: test_store.store })
  const pair = freshPair()
  test_store.setUnavailable(true)
  const refused = await send(app, v2Request(pair))
  test_store.setUnavailable(false)
  expect([refused.status, refused.body.error?.code]).toEqual([503, 2002])
  expect(refused.headers['x-data-signature']).toBe(responseSignature(refused, pair.nonce))
  // The nonce was not used up.
  expect((await send(app, v2Request(pair))).body.success).toBe(true)
})
