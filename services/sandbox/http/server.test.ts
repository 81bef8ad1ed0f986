import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import { SANDBOX_KEY, startSandbox, type TestSandbox } from '../sandbox.fixture.ts'

const PATH = '/provider/v1/operations'
let directory: string
let sandbox: TestSandbox

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-sandbox-'))
  sandbox = await startSandbox(directory)
})

afterAll(async () => {
  await sandbox.stop()
  await rm(directory, { recursive: true })
})

interface HttpResponse {
  readonly http_status: number
  readonly body: string
}

/** Sends a request with any method, path, body and headers. */
function send(
  method: string,
  path: string,
  body: string,
  headers: Record<string, string>,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(sandbox.url + path, { method, headers, agent: false }, async (response) => {
      const parts: Buffer[] = []
      for await (const part of response as AsyncIterable<Buffer>) parts.push(part)
      resolve({ http_status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() })
    })
    request.on('error', reject)
    request.end(body)
  })
}

function signed(method: string, path: string, body: string, key = SANDBOX_KEY): Record<string, string> {
  return signRequest(new Secret(key), { account_id: 'sandbox', method, path, body: Buffer.from(body) })
}

function sendSigned(method: string, path: string, body: string): Promise<HttpResponse> {
  return send(method, path, body, signed(method, path, body))
}

function deposit(changes: object = {}): string {
  return JSON.stringify({
    kind: 'deposit',
    idempotency_key: 'k1',
    amount: 100,
    currency: 'INR',
    method: 'upi',
    callback_url: 'http://127.0.0.1:1/',
    expires_at: '2099-01-01T00:00:00Z',
    payer: {},
    ...changes,
  })
}

const not_authenticated = { http_status: 401, body: '{"accepted":false,"code":4001}' }

describe('a request without a valid signature', () => {
  test.each([
    ['no headers', {}],
    ['another key', signed('POST', PATH, deposit(), 'another key of the same length......')],
    ['the signature of another body', signed('POST', PATH, deposit({ amount: 101 }))],
    ['the signature of another path', signed('POST', `${PATH}/`, deposit())],
    ['a stale signature', { ...signed('POST', PATH, deposit()), 'x-provider-timestamp': '1700000000' }],
  ])('is refused with %s', async (_what, headers) => {
    expect(await send('POST', PATH, deposit(), headers)).toEqual(not_authenticated)
    expect(await sendSigned('GET', `${PATH}/k1`, '')).toMatchObject({ http_status: 404 })
  })
})

describe('an invalid request', () => {
  test.each([
    ['not JSON', 'nonsense'],
    ['a list', '[]'],
    ['an unknown kind', deposit({ kind: 'gift' })],
    ['an amount in a string', deposit({ amount: '100' })],
    ['an amount of 0', deposit({ amount: 0 })],
    ['too large an amount', deposit({ amount: 2 ** 53 })],
    ['a fraction', deposit({ amount: 1.5 })],
    ['no expires_at', deposit({ expires_at: undefined })],
    ['an address without http or https', deposit({ callback_url: 'ftp://127.0.0.1/' })],
    ['a key with a slash', deposit({ idempotency_key: 'a/b' })],
    ['a key that is too long', deposit({ idempotency_key: 'k'.repeat(129) })],
  ])('is refused: %s', async (_what, body) => {
    expect(await sendSigned('POST', PATH, body)).toEqual({
      http_status: 400,
      body: '{"accepted":false,"code":8000}',
    })
  })

  test('is refused for its size, with or without content-length', async () => {
    const body = deposit({ filler: 'x'.repeat(70_000) })
    expect(await sendSigned('POST', PATH, body)).toMatchObject({ http_status: 413 })
    const chunked = { ...signed('POST', PATH, body), 'transfer-encoding': 'chunked' }
    // Without content-length the connection may close before the refusal is read.
    const broken = { http_status: 413 }
    expect(await send('POST', PATH, body, chunked).catch(() => broken)).toMatchObject(broken)
  })

  test('is refused for its verb or its path', async () => {
    expect(await sendSigned('DELETE', PATH, '')).toMatchObject({ http_status: 405 })
    expect(await sendSigned('POST', `${PATH}/k1`, '')).toMatchObject({ http_status: 405 })
    expect(await sendSigned('GET', '/provider/v2/operations', '')).toMatchObject({ http_status: 404 })
    expect(await sendSigned('GET', `${PATH}/a%2Fb`, '')).toMatchObject({ http_status: 404 })
    expect(await sendSigned('GET', `${PATH}/%zz`, '')).toEqual({
      http_status: 404,
      body: '{"accepted":false,"code":1001}',
    })
    expect(await sendSigned('PROPFIND', PATH, '')).toEqual({
      http_status: 405,
      body: '{"accepted":false,"code":1007}',
    })
  })
})

test('ignores unknown fields, and responds to a create as documented', async () => {
  const { http_status, body } = await sendSigned('POST', PATH, deposit({ idempotency_key: 'k2', more: [1] }))
  expect(http_status).toBe(200)
  expect(JSON.parse(body)).toEqual({
    accepted: true,
    kind: 'deposit',
    idempotency_key: 'k2',
    provider_id: expect.any(String),
    status: 'pending',
    amount: 100,
    currency: 'INR',
    instructions: { deep_links: expect.any(Array), qr_payload: expect.any(String) },
  })
})

test('serves a payment page', async () => {
  expect(await send('GET', '/pay/anything', '', {})).toMatchObject({ http_status: 200 })
})

test('accepts the same key of two accounts for different operations', async () => {
  const sendAs = (account_id: string, amount: number): Promise<HttpResponse> => {
    const body = deposit({ idempotency_key: 'k3', amount })
    const request = { account_id, method: 'POST', path: PATH, body: Buffer.from(body) }
    return send('POST', PATH, body, signRequest(new Secret(SANDBOX_KEY), request))
  }
  expect(await sendAs('sandbox', 100)).toMatchObject({ http_status: 200 })
  expect(await sendAs('sandbox-2', 200)).toMatchObject({ http_status: 200 })
  expect(await sendAs('sandbox', 200)).toMatchObject({ http_status: 409 })
})
