import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { HANG_LIMIT_MS } from '../../../../test/support/hang-limit.ts'
import { connectAccount } from '../connect-account.ts'
import type { Connector, ProviderOrder } from '../connector.ts'
import { provenBy } from '../create-result.fixture.ts'
import { newAccount } from '../provider-account.ts'

const http = createHttpClient({ allow: allowAnyAddress })
let server: Server
let connector: Connector
let next_response: { http_status: number; body: string | Buffer } = { http_status: 200, body: '' }

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    response.writeHead(next_response.http_status).end(next_response.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  connector = connectTo((server.address() as AddressInfo).port)
})

afterAll(async () => {
  await http.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const key = new Secret('0123456789abcdef0123456789abcdef')

function connectTo(port: number): Connector {
  const account = newAccount('test', {
    account_id: 'acme',
    connector: 'http',
    base_url: `http://127.0.0.1:${port}`,
    credentials: { key },
    settings: {},
  })
  return connectAccount(account, http).connector
}

const order: ProviderOrder = {
  kind: 'deposit',
  idempotency_key: 'k1',
  amount: { minor: 10_000n, currency: 'INR' },
  method: 'upi',
  callback_url: 'http://127.0.0.1:9/callbacks',
  expires_at: new Date('2030-01-01T00:00:00Z'),
  payer: {},
}

const pending = {
  accepted: true,
  kind: 'deposit',
  idempotency_key: 'k1',
  provider_id: 'p1',
  status: 'pending',
  amount: 10_000,
  currency: 'INR',
}
const success = { ...pending, status: 'success', completed_at: '2025-11-21T12:00:00.000Z' }

/** The results of a create and a lookup that get this response. */
async function resultsOf(body: unknown, http_status = 200) {
  next_response = { http_status, body: body instanceof Buffer ? body : JSON.stringify(body) }
  return {
    created: await provenBy(connector.create(order, HANG_LIMIT_MS)),
    found: await connector.lookUp(order, HANG_LIMIT_MS),
  }
}

const unknown = expect.objectContaining({ kind: 'unknown', reason: expect.any(String) })
const both_unknown = { created: unknown, found: unknown }

test('a create can be repeated permanently, because a key names one operation permanently', () => {
  expect(connector.idempotency_window_ms).toBe(Number.POSITIVE_INFINITY)
})

describe('a valid response', () => {
  test('is the status of the operation, with the details of the provider', async () => {
    const expected_status = {
      kind: 'success',
      provider_id: 'p1',
      amount: { minor: 9_999n, currency: 'TRY' },
      completed_at: new Date('2025-11-21T12:00:00Z'),
      utr: 'u1',
    }
    const body = { ...success, amount: 9_999, currency: 'TRY', utr: 'u1', more: { to: 'come' } }
    expect(await resultsOf(body)).toEqual({ created: expected_status, found: expected_status })
  })

  test.each([
    ['declined', 6044, { code: 6044 }],
    ['declined', 6013, { code: 6013 }],
    ['declined', undefined, { code: 6044 }],
    ['declined', 77, { code: 6044, provider_code: 77 }],
    ['declined', 3000, { code: 6044, provider_code: 3000 }],
    ['canceled', undefined, { code: 6012 }],
    ['canceled', 6043, { code: 6043 }],
  ] as const)('%s with %p', async (status, code, expected) => {
    const expected_status = { kind: status, provider_id: 'p1', amount: order.amount, ...expected }
    expect(await resultsOf({ ...pending, status, code })).toEqual({
      created: expected_status,
      found: expected_status,
    })
  })

  test('with an unknown status is pending', async () => {
    const expected_status = { kind: 'pending', provider_id: 'p1', amount: order.amount }
    expect(await resultsOf({ ...pending, status: 'on_hold' })).toEqual({
      created: expected_status,
      found: expected_status,
    })
  })

  test.each(['0000-01-01T00:00:00Z', '1999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'])(
    'has no impossible time, such as %s',
    async (completed_at) => {
      expect(await resultsOf({ ...success, completed_at })).toEqual(both_unknown)
    },
  )

  test('counts only with HTTP 2xx and for the requested operation', async () => {
    expect(await resultsOf(success, 500)).toEqual(both_unknown)
    expect(await resultsOf(success, 302)).toEqual(both_unknown)
    expect(await resultsOf({ ...success, idempotency_key: 'k2' })).toEqual(both_unknown)
    expect(await resultsOf({ ...success, kind: 'withdrawal' })).toEqual(both_unknown)
  })
})

describe('a refusal', () => {
  test.each([200, 400, 401, 500, 503])(
    'with HTTP %i declines a create and proves nothing to a lookup',
    async (status) => {
      expect(await resultsOf({ accepted: false, code: 8600 }, status)).toEqual({
        created: { kind: 'declined', code: 8600 },
        found: unknown,
      })
    },
  )

  test('without a usable code is 7001', async () => {
    expect((await resultsOf({ accepted: false })).created).toEqual({ kind: 'declined', code: 7001 })
    const { created } = await resultsOf({ accepted: false, code: 10_001 })
    expect(created).toEqual({ kind: 'declined', code: 7001, provider_code: 10_001 })
  })

  test('with 6010 is "not found" for a lookup', async () => {
    expect((await resultsOf({ accepted: false, code: 6010 }, 404)).found).toEqual({ kind: 'not_found' })
  })

  test('with 1013, or after an earlier create with an unknown result, proves nothing', async () => {
    expect((await resultsOf({ accepted: false, code: 1013 })).created).toEqual(unknown)
    next_response = { http_status: 400, body: JSON.stringify({ accepted: false, code: 8600 }) }
    expect(await connector.create({ ...order, earlier_result_unknown: true }, HANG_LIMIT_MS)).toEqual(unknown)
  })
})

describe('no connection', () => {
  const unreachable = connectTo(1)

  test('is not_sent for a first create, and unknown for lookups and after an earlier create with an unknown result', async () => {
    expect(await unreachable.create(order, HANG_LIMIT_MS)).toMatchObject({ kind: 'not_sent' })
    expect(await unreachable.create({ ...order, earlier_result_unknown: true }, HANG_LIMIT_MS)).toEqual(
      unknown,
    )
    expect(await unreachable.lookUp(order, HANG_LIMIT_MS)).toEqual(unknown)
  })
})

/** JSON values, with those that JavaScript handles in a special way. */
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom(0, -0, 1.5, -1, 2 ** 53, 1e308, 'NaN', 'Infinity', '100', '', [], {}, null, true),
)

describe('hostile responses', () => {
  const wrong: Record<string, (value: unknown) => boolean> = {
    accepted: (value) => typeof value !== 'boolean',
    kind: (value) => value !== 'deposit',
    idempotency_key: (value) => value !== 'k1',
    provider_id: (value) => typeof value !== 'string' || !/^[!-~]{1,128}$/.test(value),
    status: (value) => typeof value !== 'string' || value === '',
    amount: (value) => typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1,
    currency: (value) => typeof value !== 'string' || !/^[A-Z]{3}$/.test(value),
    code: (value) => typeof value !== 'number' || !Number.isInteger(value) || value < 0,
    completed_at: () => true,
    utr: (value) => typeof value !== 'string' || !/^[!-~]{1,128}$/.test(value),
  }

  test('with one invalid field are unknown', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(wrong)), json, async (name, value) => {
        fc.pre(wrong[name]?.(value) ?? false)
        expect(await resultsOf({ ...success, [name]: value })).toEqual(both_unknown)
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    'accepted',
    'kind',
    'idempotency_key',
    'provider_id',
    'status',
    'amount',
    'currency',
    'completed_at',
  ])('a report without %s is unknown', async (name) => {
    const { [name as keyof typeof success]: _, ...rest } = success
    expect(await resultsOf(rest)).toEqual(both_unknown)
  })

  test('with other JSON are unknown, with any HTTP status', async () => {
    await fc.assert(
      fc.asyncProperty(json, fc.constantFrom(200, 201, 204, 400, 500), async (body, http_status) => {
        fc.pre(!(typeof body === 'object' && body !== null && 'accepted' in body))
        expect(await resultsOf(body, http_status)).toEqual(both_unknown)
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    ['a number in a string', '"amount":10000', '"amount":"10000"'],
    ['a fraction', '"amount":10000', '"amount":10000.5'],
    ['more than 2^53-1', '"amount":10000', '"amount":9007199254740993'],
    ['infinity', '"amount":10000', '"amount":1e400'],
    ['NaN', '"amount":10000', '"amount":NaN'],
    ['a field in the prototype', '"accepted":true', '"__proto__":{"accepted":true}'],
    ['a byte order mark inside', '{"accepted"', '{\ufeff"accepted"'],
  ])('a report with %s is unknown', async (_what, from, to) => {
    expect(await resultsOf(Buffer.from(JSON.stringify(success).replace(from, to)))).toEqual(both_unknown)
  })

  test('are unknown when they are not UTF-8, very deep or very long', async () => {
    const not_utf8 = Buffer.concat([
      Buffer.from(JSON.stringify(success).slice(0, -1)),
      Buffer.from(',"a":"\xff"}', 'latin1'),
    ])
    expect(await resultsOf(not_utf8)).toEqual(both_unknown)
    expect(await resultsOf(Buffer.from('['.repeat(60_000)))).toEqual(both_unknown)
    expect(await resultsOf({ ...success, filler: 'x'.repeat(70_000) })).toEqual(both_unknown)
  })

  test.each([
    ['a web page among the app links', { deep_links: ['upi://pay?a', 'HTTPS://provider.example/pay'] }],
    ['a script as a link', { deep_links: ['javascript://x'] }],
    ['a QR text that is too long', { qr_payload: 'x'.repeat(4097) }],
    ['a script as the payment page', { payment_url: 'javascript:alert(1)' }],
    ['a list', []],
    ['an account that is a number', { bank_account: { id: 1 } }],
    ['a phone number that is too long', { phone: '1'.repeat(33) }],
    ['a document without a number', { document: { type: 'CUIT' } }],
  ])(
    'instructions with %s make a pending deposit unknown and are ignored with a success',
    async (_what, instructions) => {
      expect(await resultsOf({ ...pending, instructions })).toEqual(both_unknown)
      expect((await resultsOf({ ...success, instructions })).found.kind).toBe('success')
    },
  )
})

test('the result is unknown when the response is not HTTP', async () => {
  let bytes = Buffer.alloc(0)
  const tcp = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes))
  })
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  const hostile = connectTo((tcp.address() as AddressInfo).port)
  const lines = fc.array(
    fc.oneof(
      fc.constantFrom(
        'HTTP/1.1 200 OK\r\n',
        'HTTP/1.1 100 Continue\r\n\r\n',
        'Content-Length: 5\r\n',
        '\r\n',
      ),
      fc.constantFrom('Transfer-Encoding: chunked\r\n', 'Location: http://127.0.0.1:1/\r\n', 'ffffffff\r\n'),
      fc.string(),
    ),
  )
  await fc.assert(
    fc.asyncProperty(lines, async (parts) => {
      bytes = Buffer.from(parts.join(''))
      expect(await hostile.create(order, HANG_LIMIT_MS)).toEqual(unknown)
    }),
    { numRuns: 100 },
  )
  await new Promise((resolve) => tcp.close(resolve))
})

describe('a callback', () => {
  const path = '/callbacks/acme?x=1'
  const { accepted: _, ...report } = success
  const body = Buffer.from(JSON.stringify(report))
  const signatureOf = (given: Buffer, signing_key = key) =>
    signRequest(signing_key, { account_id: 'acme', method: 'POST', path, body: given })

  test('with a valid signature is a report', () => {
    expect(connector.parseCallback({ method: 'POST', path, headers: signatureOf(body), body })).toEqual({
      kind: 'deposit',
      idempotency_key: 'k1',
      result: expect.objectContaining({ kind: 'success', provider_id: 'p1' }),
    })
  })

  test('with an invalid signature or body is refused', () => {
    const verify = (changes: object) =>
      connector.parseCallback({
        method: 'POST',
        path,
        headers: signatureOf(body),
        body,
        ...changes,
      })
    const foreign = Buffer.from('{"status":"success"}')
    expect(verify({ headers: {} })).toBeUndefined()
    expect(verify({ headers: signatureOf(body, new Secret('another key')) })).toBeUndefined()
    expect(verify({ path: '/callbacks/acme' })).toBeUndefined()
    expect(verify({ body: Buffer.concat([body, Buffer.from(' ')]) })).toBeUndefined()
    expect(verify({ body: foreign, headers: signatureOf(foreign) })).toBeUndefined()
  })
})

// P4
test.each([
  ['an amount', { amount: { minor: 2n ** 53n, currency: 'INR' } }],
  ['an idempotency key', { idempotency_key: 'a/b' }],
])('an order with %s that the protocol cannot express is not sent', async (_what, changes) => {
  expect(await connector.create({ ...order, ...changes }, HANG_LIMIT_MS)).toEqual({
    kind: 'not_sent',
    reason: 'the protocol cannot express the order',
  })
})
