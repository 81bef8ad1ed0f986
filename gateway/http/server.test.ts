import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { useClock } from '#lib/base/time.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { settled } from '../../test/support/manual-clock.ts'
import { createTestGateway, signedHeaders } from '../gateway.fixture.ts'
import { createMerchantRequests } from '../limits/merchant-requests.ts'
import { V1_PATH } from '../paths.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import {
  BALANCE,
  PING,
  portOf,
  type RequestHead,
  requestText,
  type SocketResult,
  sendBytes,
} from './socket.fixture.ts'

let app: FastifyInstance
let release: () => void
let balance_called: Promise<void>
let balance_calls: number

/** `balance.get` waits until the test calls `release`. */
beforeEach(async () => {
  const gate = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  release = () => gate.resolve()
  balance_called = began.promise
  balance_calls = 0
  app = await createTestGateway({
    balances: {
      async getBalances() {
        balance_calls += 1
        began.resolve()
        await gate.promise
        return { balances: [] }
      },
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
})

afterEach(async () => {
  release()
  app.server.closeAllConnections()
  await app.close()
})

/** Sends the same request `count` times, on as few connections as possible; returns the codes in any order. */
async function codesOfMany(count: number, text: string): Promise<readonly number[]> {
  const { pending_responses_max: per_connection } = HTTP_LIMITS
  const connections = Array.from({ length: Math.ceil(count / per_connection) }, (_, index) => {
    const requests = Math.min(count - index * per_connection, per_connection)
    return sendBytes(app, text.repeat(requests), requests)
  })
  return (await Promise.all(connections)).flatMap(codesIn)
}

/**
 * Slows the clock down: a slow machine needs longer to send all requests than the first ones may take. Such a test also
 * switches the time limit of idle connections off, which Node.js measures by itself.
 */
function slowClock(): Disposable {
  const slow = createAdjustableClock()
  slow.setRate(0.01)
  return { [Symbol.dispose]: useClock(slow) }
}

/** The codes of the responses, 0 for a success. */
const codesIn = ({ responses }: SocketResult): readonly number[] =>
  responses.map(({ body }) => JSON.parse(body).error?.code ?? 0)

test('answers pipelined requests in their order', async () => {
  const requests = requestText(BALANCE) + requestText(PING) + requestText('{')
  const pending = sendBytes(app, requests, 3)
  await balance_called
  release()
  const [balance, pong, refused] = (await pending).responses
  expect(balance?.body).toMatch(/"balance"/)
  expect(pong?.body).toMatch(/pong/)
  expect(refused?.body).toMatch(/1005/)
})

test.each<[string, RequestHead, number]>([
  ['a repeated hash', { header_lines: [`x-data-hash: ${'a'.repeat(128)}`] }, 3002],
  ['a repeated application id', { header_lines: ['X-DATA-APPLICATION-ID: 1001'] }, 3001],
  ['a repeated content type', { header_lines: ['content-type: application/json'] }, 1006],
  ['a repeated nonce', { header_lines: ['x-data-timestamp: 1', 'x-data-nonce: a', 'x-data-nonce: a'] }, 3000],
  ['two hosts', { header_lines: ['host: b'] }, 1003],
  ['an empty query', { target: `${V1_PATH}?` }, 1003],
  ['a fragment', { target: `${V1_PATH}#` }, 1001],
  ['a large length', { header_lines: ['content-length: 1048577'] }, 1003],
  ['TRACE', { verb: 'TRACE' }, 1007],
  ['QUERY', { verb: 'QUERY' }, 1007],
  ['PROPFIND', { verb: 'PROPFIND' }, 1007],
])('refuses %s', async (_what, head, code) => {
  expect(codesIn(await sendBytes(app, requestText(PING, head), 1))).toEqual([code])
})

test('refuses a request without a host', async () => {
  expect(codesIn(await sendBytes(app, requestText(PING).replace('host: a\r\n', ''), 1))).toEqual([1003])
})

test.each([
  ['bytes that are not HTTP', 'hello\r\n\r\n'],
  ['TLS', Buffer.from('160301020001000001fc0303', 'hex')],
  ['a head of more than 16 KiB', requestText(PING, { header_lines: [`x-long: ${'a'.repeat(20_000)}`] })],
  ['a space before the colon', requestText(PING, { header_lines: ['x-a : b'] })],
  ['an unknown verb', requestText(PING, { verb: 'BREW' })],
])('refuses %s in the envelope and closes', async (_what, bytes) => {
  const result = await sendBytes(app, bytes)
  expect(codesIn(result)).toEqual([1003])
  expect(result.responses[0]).toMatchObject({
    http_status: 400,
    body: expect.stringMatching(/^\{"success":false,/),
  })
  expect(result.responses[0]?.headers.get('connection')).toBe('close')
})

test('answers HEAD without a body', async () => {
  const response = await fetch(`http://127.0.0.1:${portOf(app)}${V1_PATH}`, { method: 'HEAD' })
  expect([response.status, await response.text()]).toEqual([400, ''])
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
})

// E7
test('accepts a chunked body, and refuses one that grows beyond 1 MiB', async () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
  const chunked = (text: string, chunks: string): string =>
    requestText(text, { header_lines: ['transfer-encoding: chunked'], body_on_wire: `${chunks}0\r\n\r\n` })
  const small = chunked(PING, chunk(PING.slice(0, 5)) + chunk(PING.slice(5)))
  expect(codesIn(await sendBytes(app, small, 1))).toEqual([0])
  const large = chunked('', chunk(' '.repeat(65_536)).repeat(17))
  expect(codesIn(await sendBytes(app, large + requestText(PING), 2))).toEqual([1003, 0])
})

test('keeps the connection after refusing a body that it did not read', async () => {
  const large = requestText(' '.repeat(1_100_000))
  const wrong_type = requestText(PING, { content_type: 'text/plain' })
  expect(codesIn(await sendBytes(app, large + wrong_type + requestText(PING), 3))).toEqual([1003, 1006, 0])
})

test('refuses an announced body of more than 1 MiB before it arrives', async () => {
  const head = requestText(' '.repeat(1_048_577), { body_on_wire: '' })
  const result = await sendBytes(app, head, 1)
  expect(codesIn(result)).toEqual([1003])
  // A caller that sends nothing for some seconds gets the same code, and its connection is closed.
  expect(result.responses[0]?.headers.get('connection')).not.toBe('close')
})

test('answers complete requests before it closes after an invalid one', async () => {
  const pending = sendBytes(app, `${requestText(BALANCE)}garbage\r\n\r\n`)
  await balance_called
  release()
  expect(codesIn(await pending)).toEqual([0, 1003])
})

test('survives callers that disconnect at any point', async () => {
  const text = requestText(BALANCE)
  for (const length of [1, 30, text.length - 1, text.length]) {
    const socket = connect({ port: portOf(app), host: '127.0.0.1' })
    await once(socket, 'connect')
    socket.write(text.slice(0, length))
    await new Promise((resolve) => setImmediate(resolve))
    socket.resetAndDestroy()
  }
  await balance_called
  release()
  expect(codesIn(await sendBytes(app, requestText(PING), 1))).toEqual([0])
})

// E10
test('answers 1000 beyond the requests in progress of one merchant', async () => {
  const { merchant_requests_max: most } = HTTP_LIMITS
  using _ = slowClock()
  app.server.setTimeout(0)
  const pending = codesOfMany(most + 2, requestText(BALANCE))
  await eventually(
    async () => balance_calls,
    (count = 0) => count >= most,
  )
  const [refused] = (await sendBytes(app, requestText(BALANCE), 1)).responses
  expect([refused?.http_status, refused?.headers.get('retry-after')]).toEqual([429, '1'])
  expect(JSON.parse(refused?.body ?? '').error).toMatchObject({
    code: 1000,
    details: { bucket: 'concurrency' },
  })
  // The refusal is signed, as every response to an authenticated caller.
  expect(refused?.headers.get('x-data-hash')).toBe(signedHeaders(refused?.body ?? '')['x-data-hash'])
  release()
  expect((await pending).filter((code) => code !== 0)).toEqual([1000, 1000])
  expect(codesIn(await sendBytes(app, requestText(PING), 1))).toEqual([0])
})

test('answers 2002 beyond the requests in progress of the process', async () => {
  const { requests_max: most } = HTTP_LIMITS
  const gate = Promise.withResolvers<void>()
  const lines: string[] = []
  using _ = slowClock()
  await app.close()
  app = await createTestGateway({
    balances: { getBalances: () => gate.promise.then(() => ({})) },
    merchant_requests: createMerchantRequests(2 * most, 0),
    log: createLog('gateway', { level: 'info', writer: { write: (line) => void lines.push(line) } }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  app.server.setTimeout(0)
  const pending = codesOfMany(most + 2, requestText(BALANCE))
  await eventually(
    async () => lines.length,
    (count = 0) => count >= 2,
  )
  gate.resolve()
  const others = (await pending).filter((code) => code !== 0)
  expect(others).toEqual([2002, 2002])
  expect(codesIn(await sendBytes(app, requestText(PING), 1))).toEqual([0])
})

test.each([
  ['requests in progress', requestText(BALANCE)],
  ['the reference', 'GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n'],
])('closes a connection with too many pending responses: %s', async (_what, text) => {
  const { closed_by_gateway } = await sendBytes(app, text.repeat(HTTP_LIMITS.pending_responses_max + 1))
  expect(closed_by_gateway).toBe(true)
  expect(balance_calls).toBeLessThanOrEqual(HTTP_LIMITS.pending_responses_max)
  expect(codesIn(await sendBytes(app, requestText(PING), 1))).toEqual([0])
})

test.each([0, 60, requestText(PING).length - 1])(
  'serves a request that arrived, from byte %i on, while the process stood still for longer than it may take',
  async (before) => {
    app.server.headersTimeout = 100
    app.server.requestTimeout = 100
    const accepted = once(app.server, 'connection')
    const socket = connect(portOf(app), '127.0.0.1')
    await Promise.all([once(socket, 'connect'), accepted])
    const text = requestText(PING)
    socket.write(text.slice(0, before))
    await settled()
    socket.write(text.slice(before))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HTTP_LIMITS.timeout_check_interval_ms + 500)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
  },
)

test('refuses a second head that does not end, also when the first request is answered', async () => {
  app.server.headersTimeout = 1
  app.server.requestTimeout = 1
  expect(
    codesIn(await sendBytes(app, `${requestText(PING)}POST ${V1_PATH} HTTP/1.1\r\nhost: a\r\n`, 2)),
  ).toEqual([0, 1003])
})

test('reports the processing time in milliseconds with at most three decimals', async () => {
  const { responses } = await sendBytes(
    app,
    requestText(PING) + requestText('{') + requestText(PING, { verb: 'GET' }),
    3,
  )
  for (const { body } of responses) {
    expect(body).toMatch(/"processing_time":[0-9]+(\.[0-9]{1,3})?\}$/)
    expect(JSON.parse(body).processing_time).toBeLessThan(60_000)
  }
})

test('has a time-out for every part of an exchange', () => {
  const { server } = app
  // The whole request has 30 s in `readBody`, except an upload.
  expect([server.headersTimeout, server.requestTimeout, server.timeout]).toEqual([10_000, 300_000, 75_000])
  expect(server.keepAliveTimeout).toBe(72_000)
})

test('accepts more connections than its own limit, which makes room for new ones, but not without end', () => {
  expect(app.server.maxConnections).toBe(11_000)
})

test.each([
  ['a head that does not end', `POST ${V1_PATH} HTTP/1.1\r\nhost: a\r\n`, [1003]],
  ['a body that does not end', requestText(PING, { header_lines: ['content-length: 100'] }), [1003]],
  [
    'the rest of a body that was refused',
    requestText(PING, { content_type: 'text/plain', header_lines: ['content-length: 100'] }),
    [1006],
  ],
])('does not wait for %s', async (_what, text, codes) => {
  app.server.headersTimeout = 1
  app.server.requestTimeout = 1
  expect(codesIn(await sendBytes(app, text))).toEqual(codes)
})

test('finishes the request in progress when it is closed', async () => {
  const pending = sendBytes(app, requestText(BALANCE))
  await balance_called
  const closed = app.close()
  release()
  expect(codesIn(await pending)).toEqual([0])
  await closed
})
