import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isUuid } from '#lib/base/ids.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { propertyRuns } from '../test/support/property-runs.ts'
import { freshPair } from '../test/support/sign-request.ts'
import { openTestStore } from '../test/support/store.ts'
import {
  codeAndPath,
  createTestGateway,
  send,
  signedHeaders,
  type TestRequest,
  type TestResponse,
} from './gateway.fixture.ts'
import { V1_PATH } from './paths.ts'

const expectEnvelope = ({ body, headers, text }: TestResponse): void => {
  expect(Object.keys(body)).toEqual(
    body.success
      ? ['success', 'result', 'request_id', 'processing_time']
      : ['success', 'result', 'error', 'request_id', 'processing_time'],
  )
  if (!body.success) expect(Object.keys(body.error ?? {})).toEqual(['code', 'message', 'details', 'context'])
  expect(isUuid(body.request_id)).toBe(true)
  expect(headers['x-request-id']).toBe(body.request_id)
  expect(String(body.processing_time)).toMatch(/^\d+(\.\d{1,3})?$/)
  expect(headers['content-type']).toMatch(/^application\/json/)
  expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text))
}

test('answers ping with pong in the envelope', async () => {
  const response = await send(await createTestGateway())
  expect(response.status).toBe(200)
  expect(response.body).toMatchObject({ success: true, result: { message: 'pong' } })
  expectEnvelope(response)
})

const MIB = 1024 * 1024
const type = (value: string | undefined): TestRequest => ({ headers: { 'content-type': value } })

test.each<[string, TestRequest, number]>([
  ['an unknown path', { path: '/' }, 1001],
  ['an unknown path with GET', { path: '/health', verb: 'GET' }, 1001],
  ['a path in another case', { path: '/public/api/multihub/V1' }, 1001],
  ['a path with a slash at its end', { path: `${V1_PATH}/` }, 1001],
  ['a path in another spelling', { path: '/public/api/multihub/v%31' }, 1001],
  ['a path that cannot be decoded', { path: '/%' }, 1001],
  ['an unknown path with a body of an unknown type', { path: '/x', ...type('no/such; thing') }, 1001],
  ['GET', { verb: 'GET' }, 1007],
  ['PUT', { verb: 'PUT' }, 1007],
  ['DELETE', { verb: 'DELETE' }, 1007],
  ['PATCH', { verb: 'PATCH' }, 1007],
  ['OPTIONS', { verb: 'OPTIONS' }, 1007],
  ['PUT of an unknown type', { verb: 'PUT', ...type('///') }, 1007],
  ['GET with a query', { verb: 'GET', path: `${V1_PATH}?a=1` }, 1007],
  ['no content type', type(undefined), 1006],
  ['a form', type('application/x-www-form-urlencoded'), 1006],
  ['plain text', type('text/plain'), 1006],
  ['JSON of some kind', type('application/problem+json'), 1006],
  ['a longer type', type('application/jsonx'), 1006],
  ['another charset', type('application/json; charset=latin1'), 1006],
  ['an unknown parameter', type('application/json; v=1'), 1006],
  ['a malformed type', type('application/json; charset="utf-8'), 1006],
  ['a type that would make a backtracking pattern slow', type(`application/json${'; '.repeat(4000)}x`), 1006],
  ['an encoding', { headers: { 'content-encoding': 'gzip' } }, 1006],
  ['an encoding that does nothing', { headers: { 'content-encoding': 'identity' } }, 1006],
  ['a wrong type with a query', { path: `${V1_PATH}?a=1`, ...type('text/plain') }, 1006],
  ['a query', { path: `${V1_PATH}?a=1` }, 1003],
  ['a body of more than 1 MiB', { raw: Buffer.alloc(MIB + 1, 0x20) }, 1003],
  [
    'a large body without authentication',
    { raw: Buffer.alloc(MIB + 1), headers: { 'x-data-hash': 'x' } },
    1003,
  ],
  ['101 headers', { headers: Object.fromEntries([...Array(101).keys()].map((n) => [`x-${n}`, ''])) }, 1003],
])('refuses %s with HTTP 400, unsigned', async (_what, sent, code) => {
  const response = await send(await createTestGateway(), sent)
  expect([response.status, response.body.error?.code]).toEqual([400, code])
  expect(response.headers['x-data-hash']).toBeUndefined()
  expectEnvelope(response)
})

test('HEAD is refused too, and has no body', async () => {
  const { status, text } = await send(await createTestGateway(), { verb: 'HEAD' })
  expect([status, text]).toEqual([400, ''])
})

test.each([
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON;charset="UTF-8"',
  'application/json;',
  'application/json ; charset=utf-8 ',
])('accepts the content type %p', async (value) => {
  expect((await send(await createTestGateway(), type(value))).body.success).toBe(true)
})

// E7
test('accepts a body of exactly 1 MiB', async () => {
  const ping = '{"method":"gateway.ping","params":{}}'
  const { body } = await send(await createTestGateway(), { raw: ping.padEnd(MIB, ' ') })
  expect(body.success).toBe(true)
})

test.each<[string, TestRequest, number, number, string | undefined]>([
  ['no body', { raw: '' }, 400, 1005, 'body'],
  ['a body that is not JSON', { raw: 'x' }, 400, 1005, 'body'],
  ['an array', { raw: '[]' }, 400, 1005, 'body'],
  ['null', { raw: 'null' }, 400, 1005, 'body'],
  [
    'a duplicate method',
    { raw: '{"method":"gateway.ping","m\\u0065thod":"x","params":{}}' },
    400,
    1005,
    'body',
  ],
  ['no method', { body: { params: {} } }, 400, 1005, 'method'],
  [
    'an inherited method',
    { raw: '{"__proto__":{"method":"gateway.ping"},"params":{}}' },
    400,
    1005,
    'method',
  ],
  ['a method that is a number', { body: { method: 1, params: {} } }, 400, 1005, 'method'],
  ['an unknown method', { body: { method: 'gateway.pong' } }, 404, 1002, undefined],
  ['an empty method', { body: { method: '', x: 1 } }, 404, 1002, undefined],
  // No schema is chosen yet that could refuse the text (E5).
  ['half a surrogate pair in the method', { body: { method: 'gateway.ping\ud800' } }, 404, 1002, undefined],
  ['U+0000 in the method', { body: { method: 'gateway.ping\0' } }, 404, 1002, undefined],
  ['a method of Object', { body: { method: 'constructor' } }, 404, 1002, undefined],
  ['no params', { body: { method: 'gateway.ping' } }, 400, 1005, 'params'],
  ['params that are null', { body: { method: 'gateway.ping', params: null } }, 400, 1005, 'params'],
  ['an unknown field', { body: { method: 'gateway.ping', params: {}, x: 1 } }, 400, 9000, 'x'],
  ['an unknown param', { body: { method: 'gateway.ping', params: { x: 1 } } }, 400, 9000, 'params.x'],
  [
    'an operation_id',
    { body: { method: 'gateway.ping', operation_id: 'a', params: {} } },
    400,
    9000,
    'operation_id',
  ],
])('refuses %s, signed', async (_what, sent, status, code, path) => {
  const response = await send(await createTestGateway(), sent)
  expect([response.status, ...codeAndPath(response)]).toEqual([status, code, path])
  expect(response.headers['x-data-hash']).toBe(signedHeaders(response.text)['x-data-hash'])
  expectEnvelope(response)
})

test.each<[unknown]>([[['anything']], [null], ['\ud800'], ['\0'], [{ '\ud800': 1.5 }]])(
  'ignores the service_id of ping: %j',
  async (service_id) => {
    const body = { method: 'gateway.ping', params: {}, service_id }
    expect((await send(await createTestGateway(), { body })).body.success).toBe(true)
  },
)

test.each(['payment.in', 'payment.status', 'payment.notification', 'balance.get'])(
  'refuses half a surrogate pair or U+0000 in the service_id of %s with 9000',
  async (method) => {
    const app = await createTestGateway()
    const payment = { identifiers: { c_id: 'a' }, amount: { value: 1, currency: 'INR' }, payer: {} }
    const params = {
      'payment.in': { payment },
      'balance.get': {},
    }[method] ?? { payment: { identifiers: payment.identifiers } }
    for (const service_id of ['\ud800', '501\0'])
      expect(codeAndPath(await send(app, { body: { method, service_id, params } }))).toEqual([
        9000,
        'service_id',
      ])
  },
)

// E8
test('answers 1002 for a method that is disabled for the credential', async () => {
  const app = await createTestGateway({ credential: { disabledMethods: ['gateway.ping'] } })
  const response = await send(app, { body: { method: 'gateway.ping' } })
  expect([response.status, response.body.error?.code]).toEqual([404, 1002])
})

// E7
test('answers an unexpected fault with 2001 and without its cause', async () => {
  const getBalances = (): never => {
    throw new Error('the database password is hunter2')
  }
  const response = await send(await createTestGateway({ balances: { getBalances } }), {
    body: { method: 'balance.get', params: {} },
  })
  expect([response.status, response.body.error?.code]).toEqual([400, 2001])
  expect(response.text).not.toContain('hunter2')
  expectEnvelope(response)
})

test('logs the caller’s own request id, only if it is well-formed', async () => {
  const lines: string[] = []
  const log = createLog('gateway', { level: 'info', writer: { write: (line) => void lines.push(line) } })
  const app = await createTestGateway({ log })
  const raw = '{"method":"gateway.ping","params":{} }'
  const response = await send(app, { raw, headers: { 'x-request-id': 'mine-1' } })
  await send(app, { raw: 'bank data', headers: { 'x-request-id': 'mine 2' } })
  const [first, second] = lines.map((line) => JSON.parse(line))
  expect(response.body.request_id).not.toBe('mine-1')
  expect(first).toMatchObject({
    level: 'info',
    role: 'gateway',
    request_id: response.body.request_id,
    client_request_id: 'mine-1',
    method: 'gateway.ping',
    http_status: 200,
    application_id: '1001',
    merchant_id: '7001',
    environment: 'test',
  })
  expect(second).toMatchObject({ code: 1005, http_status: 400 })
  expect(second).not.toHaveProperty('client_request_id')
  expect(lines.join('')).not.toMatch(/bank data|params/)
})

test('answers 503 and closes the connection while it stops', async () => {
  const app = await createTestGateway({ stopping: AbortSignal.abort() })
  const { status, text, headers } = await send(app)
  expect([status, text, headers['connection']]).toEqual([503, '', 'close'])
})

test('answers 429 after too many failed authentications of one address, and to no other caller', async () => {
  const app = await createTestGateway({ failures_per_minute: 3, trusted_proxies: ['10.0.0.0/8'] })
  const failing: readonly TestRequest[] = [
    { headers: { 'x-data-application-id': undefined } },
    { headers: { 'x-data-hash': undefined } },
    { headers: { 'x-data-application-id': '9' } },
    { secret: 'wrong' },
  ]
  const responses = []
  for (const sent of failing) responses.push(await send(app, sent))
  expect(responses.map(({ status, body }) => [status, body.error?.code])).toEqual([
    [400, 3001],
    [400, 3002],
    [400, 3003],
    [429, 1000],
  ])
  for (const response of responses) {
    expect(response.headers['x-data-hash']).toBeUndefined()
    expectEnvelope(response)
  }
  expect(responses.at(-1)?.body.error?.details).toMatchObject({ limit: 3, window_seconds: 60 })
  // Valid requests from the same address and application id succeed, and other errors keep their codes.
  expect((await send(app)).body.success).toBe(true)
  expect((await send(app, { raw: '{' })).body.error?.code).toBe(1005)
  expect((await send(app, { path: '/' })).body.error?.code).toBe(1001)
  expect((await send(app, { secret: 'wrong', from: '192.0.2.99' })).body.error?.code).toBe(3000)
  const behind_proxy = { secret: 'wrong', from: '10.0.0.1' }
  for (const hop of ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4', 'unreadable'])
    expect((await send(app, { ...behind_proxy, headers: { 'x-forwarded-for': hop } })).body.error?.code).toBe(
      3000,
    )
})

// E10
test('never answers 429 for failed authentications to a caller whose signature was verified', async () => {
  const app = await createTestGateway({ failures_per_minute: 1 })
  const pair = freshPair()
  const same_nonce: TestRequest = { sign: (payload, secret) => signedHeaders(payload, secret, pair) }
  expect((await send(app, same_nonce)).body.success).toBe(true)
  for (let replay = 0; replay < 3; replay += 1)
    expect((await send(app, same_nonce)).body.error?.code).toBe(3000)
  // None of the replays was counted, so the address may still fail once.
  const codes = []
  for (let failure = 0; failure < 2; failure += 1)
    codes.push((await send(app, { secret: 'wrong' })).body.error?.code)
  expect(codes).toEqual([3000, 1000])
})

test('counts every authenticated request against its day and its bucket, even a refused one', async () => {
  await using kept = await openTestStore()
  const credential = { dailyLimit: 4n, rateLimits: { 'balance.get': 1 } }
  const app = await createTestGateway({
    store: kept.store,
    credential,
    balances: { getBalances: () => ({}) },
  })
  const balance = { body: { method: 'balance.get', params: {} } }
  const codes = []
  for (const sent of [balance, balance, { raw: '{' }, { secret: 'wrong' }, {}, {}, {}])
    codes.push((await send(app, sent)).body.error?.code)
  expect(codes).toEqual([undefined, 1000, 1005, 3000, undefined, 3009, 3009])
})

test('answers any signed bytes with the envelope', async () => {
  const app = await createTestGateway()
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    fc
      .jsonValue()
      .map((params) => Buffer.from(JSON.stringify({ method: 'payment.in', service_id: 1, params }))),
    fc
      .jsonValue()
      .map((payment) => Buffer.from(JSON.stringify({ method: 'payment.status', params: { payment } }))),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (raw) => {
      const response = await send(app, { raw })
      expectEnvelope(response)
      expect([1002, 1005, 9000]).toContain(response.body.error?.code)
      expect(response.headers['x-data-hash']).toBe(signedHeaders(response.text)['x-data-hash'])
    }),
    { numRuns: propertyRuns(500) },
  )
})
