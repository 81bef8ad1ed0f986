import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { clock, useClock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { testWith } from '../../test/support/needs.ts'
import { opensslSha512 } from '../../test/support/openssl.ts'
import {
  createTestGateway,
  type FixtureOptions,
  OLD_SECRET,
  SECRET,
  send,
  signedHeaders,
  type TestRequest,
} from '../gateway.fixture.ts'

const PING = '{"method":"gateway.ping","params":{}}'
const now_s = (): number => Math.floor(clock.now_ms() / 1000)

const codeOf = async (sent: TestRequest, options: FixtureOptions = {}): Promise<number | undefined> =>
  (await send(await createTestGateway(options), sent)).body.error?.code

testWith('openssl')('accepts a hash made by openssl, and signs responses as openssl does', async () => {
  const app = await createTestGateway()
  const pong = await send(app, { raw: PING, headers: { 'x-data-hash': opensslSha512(PING + SECRET) } })
  expect(pong.body.success).toBe(true)
  expect(pong.headers['x-data-hash']).toBe(opensslSha512(pong.text + SECRET))
  const refused = await send(app, { raw: '{' })
  expect(refused.body.error?.code).toBe(1005)
  expect(refused.headers['x-data-hash']).toBe(opensslSha512(refused.text + SECRET))
})

test('hashes the exact bytes: other whitespace or key order is another body', async () => {
  const app = await createTestGateway()
  const raw = ' {"params" : {},\n"method":"gateway.ping"}\t'
  expect((await send(app, { raw })).body.success).toBe(true)
  expect((await send(app, { raw, headers: signedHeaders(PING) })).body.error?.code).toBe(3000)
})

test('refuses any change of one byte of the body with 3000', async () => {
  const app = await createTestGateway()
  const body = Buffer.from('{"method":"gateway.ping","params":{}, "service_id": 5}')
  const headers = signedHeaders(body)
  await fc.assert(
    fc.asyncProperty(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const raw = Buffer.from(body)
      raw[at] = (raw[at] ?? 0) ^ change
      const { body: response_body, headers: shown } = await send(app, { raw, headers })
      expect(response_body.error?.code).toBe(3000)
      expect(shown['x-data-hash']).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})

test.each([
  ['x-data-hash', [3000, 3002]],
  ['x-data-application-id', [3001, 3003]],
])('refuses any change of one character of %s, unsigned', async (name, codes) => {
  const app = await createTestGateway()
  const text = signedHeaders(PING)[name] ?? ''
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), fc.constantFrom(...'0123456789abcdefgXYZ!'), async (at, to) => {
      const changed = text.slice(0, at) + (to === text[at] ? '~' : to) + text.slice(at + 1)
      const { body, headers } = await send(app, { raw: PING, headers: { [name]: changed } })
      expect(codes).toContain(body.error?.code)
      expect(headers['x-data-hash']).toBeUndefined()
    }),
    { numRuns: 200 },
  )
})

test.each<[string, Record<string, string | undefined>, number]>([
  ['no application id', { 'x-data-application-id': undefined }, 3001],
  ['an application id of letters', { 'x-data-application-id': 'abc' }, 3001],
  ['an application id of 0', { 'x-data-application-id': '0' }, 3001],
  ['a leading zero', { 'x-data-application-id': '01001' }, 3001],
  ['a negative one', { 'x-data-application-id': '-1001' }, 3001],
  ['a fraction', { 'x-data-application-id': '1001.0' }, 3001],
  ['17 digits', { 'x-data-application-id': '1'.repeat(17) }, 3001],
  ['neither header', { 'x-data-application-id': undefined, 'x-data-hash': undefined }, 3001],
  ['no hash', { 'x-data-hash': undefined }, 3002],
  ['a short hash', { 'x-data-hash': 'ab' }, 3002],
  ['a hash in upper case', { 'x-data-hash': 'AB'.repeat(64) }, 3002],
  ['a hash of 129 characters', { 'x-data-hash': 'a'.repeat(129) }, 3002],
  ['no hash of an unknown application', { 'x-data-application-id': '9', 'x-data-hash': undefined }, 3002],
  ['an unknown application', { 'x-data-application-id': '9' }, 3003],
  ['a wrong hash', { 'x-data-hash': 'ab'.repeat(64) }, 3000],
])('refuses %s', async (_what, headers, code) => {
  const { body, headers: shown, status } = await send(await createTestGateway(), { headers })
  expect([status, body.error?.code]).toEqual([400, code])
  expect(shown['x-data-hash']).toBeUndefined()
})

// A6
test('accepts both secrets of a rotation, and signs the response with the secret of the request', async () => {
  const app = await createTestGateway()
  for (const secret of [SECRET, OLD_SECRET]) {
    const { body, text, headers } = await send(app, { raw: PING, secret })
    expect(body.success).toBe(true)
    expect(headers['x-data-hash']).toBe(signedHeaders(text, secret)['x-data-hash'])
  }
})

test('refuses the old secret after its expiry although the credential is cached', async () => {
  const old_secret_expires_ms = clock.now_ms() - 1
  expect(await codeOf({ secret: OLD_SECRET }, { old_secret_expires_ms })).toBe(3000)
  expect(await codeOf({ secret: SECRET }, { old_secret_expires_ms })).toBeUndefined()
})

const BROKEN = { status: CredentialStatus.UNSPECIFIED }

test.each<[string, FixtureOptions, number]>([
  ['broken settings', { credential: BROKEN }, 3007],
  ['a broken allowlist', { credential: { ipAllowlist: ['10.0.0.0/99'] } }, 3007],
  ['an unknown environment', { credential: { environment: Environment.UNSPECIFIED } }, 3007],
  ['a disabled credential', { credential: { status: CredentialStatus.DISABLED } }, 3004],
  ['a blocked credential', { credential: { status: CredentialStatus.BLOCKED } }, 3005],
  ['another address', { credential: { ipAllowlist: ['198.51.100.0/24', '2001:db8::/32'] } }, 3006],
  ['a v2 credential', { credential: { apiVersion: ApiVersion.V2 } }, 3008],
  ['an environment that is not the merchant’s', { merchant_environments: [Environment.PRODUCTION] }, 3008],
  // Several errors at once: the first in the order is reported.
  [
    'disabled from another address',
    { credential: { status: CredentialStatus.DISABLED, ipAllowlist: ['::1'] } },
    3004,
  ],
  ['v2 from another address', { credential: { apiVersion: ApiVersion.V2, ipAllowlist: ['::1'] } }, 3006],
])('refuses %s with its own code only after verifying the signature', async (_what, options, code) => {
  const app = await createTestGateway(options)
  const { body, headers, status } = await send(app, { raw: '{' })
  expect([status, body.error?.code]).toEqual([code === 3008 ? 403 : 400, code])
  expect(headers['x-data-hash']).toBeDefined()
  expect((await send(app, { secret: 'wrong' })).body.error?.code).toBe(3000)
})

test('refuses every signature of a secret that cannot be decrypted', async () => {
  expect(await codeOf({}, { secrets_broken: true })).toBe(3000)
})

const MAPPED = '::ffff:203.0.113.0/120'
const IPV6 = '2001:db8:a::/48'

test.each<[string, readonly string[], string, string | undefined, number | undefined]>([
  ['an IPv4 address', ['203.0.113.9'], '203.0.113.9', undefined, undefined],
  ['a neighbouring address', ['203.0.113.9'], '203.0.113.8', undefined, 3006],
  ['an IPv4 address in its IPv6 spelling', ['203.0.113.0/24'], '::ffff:203.0.113.9', undefined, undefined],
  ['an IPv4 address in a mapped range', [MAPPED], '203.0.113.9', undefined, undefined],
  ['an IPv4 address outside a mapped range', [MAPPED], '203.0.114.9', undefined, 3006],
  ['an IPv6 address', [IPV6], '2001:db8:a:1::1', undefined, undefined],
  [
    'an IPv6 address in its long spelling',
    [IPV6],
    '2001:0DB8:000A:0001:0000:0000:0000:0001',
    undefined,
    undefined,
  ],
  ['an IPv6 address of another range', [IPV6], '2001:db8:b::1', undefined, 3006],
  ['IPv4 where all of IPv6 is allowed', ['::/0'], '203.0.113.9', undefined, 3006],
  ['one of several ranges', ['198.51.100.0/24', IPV6, '203.0.113.9/32'], '203.0.113.9', undefined, undefined],
  ['a forged header without a trusted proxy', ['203.0.113.0/24'], '192.0.2.1', '203.0.113.9', 3006],
  ['a caller behind a trusted proxy', ['203.0.113.0/24'], '10.0.0.1', '203.0.113.9', undefined],
  [
    'a caller behind two trusted proxies',
    ['203.0.113.0/24'],
    '::ffff:10.0.0.1',
    '203.0.113.9, fd00::2',
    undefined,
  ],
  ['a caller that forged the first entry', ['203.0.113.0/24'], '10.0.0.1', '203.0.113.9, 192.0.2.1', 3006],
  ['a proxy without the header', ['203.0.113.0/24'], '10.0.0.1', undefined, 3006],
  ['an address that cannot be read', ['0.0.0.0/0', '::/0'], '10.0.0.1', 'unknown', 3006],
  ['an address with a port', ['203.0.113.9'], '10.0.0.1', '203.0.113.9:4711', undefined],
  ['an address with a port elsewhere', ['203.0.113.9'], '10.0.0.1', '192.0.2.1:4711', 3006],
  ['an address with a zone', ['0.0.0.0/0', '::/0'], '10.0.0.1', 'fe80::1%eth0', 3006],
  ['an empty address', ['0.0.0.0/0', '::/0'], '10.0.0.1', '203.0.113.9,', 3006],
  ['no allowlist, and no address that can be read', [], '10.0.0.1', 'unknown', undefined],
])('checks the allowlist: %s', async (_what, ipAllowlist, from, forwarded, code) => {
  const trusted_proxies = ['10.0.0.0/8', 'fd00::/8']
  const headers = { 'x-forwarded-for': forwarded }
  const app = await createTestGateway({ credential: { ipAllowlist: [...ipAllowlist] }, trusted_proxies })
  expect((await send(app, { from, headers })).body.error?.code).toBe(code)
})

test('ignores X-Forwarded-For without trusted proxies', async () => {
  const credential = { ipAllowlist: ['203.0.113.0/24'] }
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  expect(await codeOf({ from: '10.0.0.1', headers }, { credential })).toBe(3006)
})

test.each<[string, (time_s: number) => Record<string, string>, number | undefined]>([
  ['a fresh timestamp with a nonce', (time_s) => replayPair(time_s, 'n'), undefined],
  [
    'a timestamp at the limit with a long nonce',
    (time_s) => replayPair(time_s - 300, '~'.repeat(128)),
    undefined,
  ],
  ['a timestamp alone', (time_s) => ({ 'x-data-timestamp': `${time_s}` }), 3000],
  ['a nonce alone', () => ({ 'x-data-nonce': 'n' }), 3000],
  ['an old timestamp', (time_s) => replayPair(time_s - 301, 'n'), 3000],
  ['a timestamp of tomorrow', (time_s) => replayPair(time_s + 86_400, 'n'), 3000],
  ['milliseconds', (time_s) => replayPair(`${time_s}000`, 'n'), 3000],
  ['a fraction', (time_s) => replayPair(`${time_s}.5`, 'n'), 3000],
  ['an empty nonce', (time_s) => replayPair(time_s, ''), 3000],
  ['a nonce with a blank', (time_s) => replayPair(time_s, 'a b'), 3000],
  ['a long nonce', (time_s) => replayPair(time_s, 'a'.repeat(129)), 3000],
])('checks the replay pair: %s', async (_what, headersAt, code) => {
  const adjustable = createAdjustableClock()
  adjustable.stopWall()
  const restore = useClock(adjustable)
  try {
    const { body, headers: shown } = await send(await createTestGateway(), { headers: headersAt(now_s()) })
    expect(body.error?.code).toBe(code)
    expect(shown['x-data-hash']).toBeDefined()
  } finally {
    restore()
  }
})

function replayPair(timestamp: number | string, nonce: string): Record<string, string> {
  return { 'x-data-timestamp': `${timestamp}`, 'x-data-nonce': nonce }
}

test('checks freshness after the credential and before parsing the body', async () => {
  const stale = { headers: { 'x-data-nonce': 'n' }, raw: '{' }
  expect(await codeOf(stale)).toBe(3000)
  expect(await codeOf(stale, { credential: { apiVersion: ApiVersion.V2 } })).toBe(3008)
})

test('answers 2002, unsigned, when the registry is unavailable', async () => {
  const registryService = {
    getCredential: (): never => {
      throw new PublicError(2002)
    },
  }
  const { status, body, headers } = await send(await createTestGateway({ registryService }))
  expect([status, body.error?.code, headers['x-data-hash']]).toEqual([400, 2002, undefined])
})

test('reads a credential once for many requests', async () => {
  let reads = 0
  const registryService = {
    getCredential: () => {
      reads += 1
      return {}
    },
  }
  const app = await createTestGateway({ registryService })
  await Promise.all(Array.from({ length: 20 }, () => send(app)))
  expect(reads).toBe(1)
})
