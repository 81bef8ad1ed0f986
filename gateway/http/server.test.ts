import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { V1_PATH } from '../app.ts'
import { createTestGateway, signedHeaders } from '../gateway.fixture.ts'

let app: FastifyInstance
let release: () => void
let asked: Promise<void>

/** `balance.get` answers when the test lets it. */
beforeEach(async () => {
  const gate = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  release = () => gate.resolve()
  asked = began.promise
  app = await createTestGateway({
    balances: {
      async getBalances() {
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

const port = (): number => {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address.port
}

const PING = '{"method":"gateway.ping","params":{}}'
const BALANCE = '{"method":"balance.get","params":{}}'

/** A request as bytes; lines are taken as they are. */
function requestText(body: string, lines: readonly string[] = [], verb = 'POST'): string {
  const headers = Object.entries(signedHeaders(body)).map(([name, value]) => `${name}: ${value}`)
  const length = lines.some((line) => /^(content-length|transfer-encoding)/i.test(line))
    ? []
    : [`content-length: ${Buffer.byteLength(body)}`]
  return [`${verb} ${V1_PATH} HTTP/1.1`, 'host: a', ...headers, ...length, ...lines, '', body].join('\r\n')
}

/** Sends bytes and reads until the gateway closes, or until `until` has been seen. */
async function talk(text: string | Buffer, until?: (received: string) => boolean): Promise<string> {
  const socket = connect({ port: port(), host: '127.0.0.1' })
  let received = ''
  const done = Promise.withResolvers<void>()
  socket.on('data', (chunk) => {
    received += chunk
    if (until?.(received)) done.resolve()
  })
  socket.on('close', () => done.resolve())
  socket.on('error', () => done.resolve())
  socket.write(text)
  await done.promise
  socket.destroy()
  return received
}

const codesIn = (received: string): readonly number[] =>
  [...received.matchAll(/"code":(\d+)/g)].map(([, code]) => Number(code))
const answersIn = (received: string): number => received.split('HTTP/1.1 ').length - 1
const answered = (count: number) => (received: string) =>
  (received.match(/"processing_time":[\d.]+\}/g) ?? []).length >= count

test('answers over a socket', async () => {
  const received = await talk(requestText(PING), answered(1))
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(received).toMatch(/"message":"pong"/)
})

test('answers pipelined requests in their order', async () => {
  const both = requestText(BALANCE) + requestText(PING) + requestText('{')
  const received = talk(both, answered(3))
  await asked
  release()
  const text = await received
  expect(answersIn(text)).toBe(3)
  expect(text.indexOf('"balance"')).toBeLessThan(text.indexOf('pong'))
  expect(text.indexOf('pong')).toBeLessThan(text.indexOf('1005'))
})

test.each<[string, string | Buffer, number]>([
  ['no HTTP', 'hello\r\n\r\n', 1003],
  ['TLS', Buffer.from('160301020001000001fc0303', 'hex'), 1003],
  ['a length that is no number', requestText(PING, ['content-length: ten']), 1003],
  ['a negative length', requestText(PING, ['content-length: -1']), 1003],
  ['two lengths', requestText(PING, ['content-length: 37', 'content-length: 38']), 1003],
  [
    'a length and a transfer encoding',
    requestText(PING, ['content-length: 37', 'transfer-encoding: chunked']),
    1003,
  ],
  ['an unknown transfer encoding', requestText(PING, ['transfer-encoding: xchunked']), 1003],
  ['a bad chunk', requestText('zz\r\nabc', ['transfer-encoding: chunked']), 1003],
  ['a head of more than 16 KiB', requestText(PING, [`x-long: ${'a'.repeat(20_000)}`]), 1003],
  ['a bare line feed in a header', requestText(PING, ['x-a: b\nx-c: d\u0001']), 1003],
  ['a blank before the colon', requestText(PING, ['x-a : b']), 1003],
  ['an unknown verb', requestText(PING, [], 'BREW'), 1003],
])('refuses %s in the envelope and closes', async (_what, bytes, code) => {
  const received = await talk(bytes)
  expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  expect(received).toMatch(/connection: close/i)
  expect(received).toMatch(/"success":false,"result":null,"error":\{"code":1003,/)
  expect(codesIn(received)).toEqual([code])
})

test.each<[string, string, number]>([
  ['a repeated hash', requestText(PING, [`x-data-hash: ${'a'.repeat(128)}`]), 3002],
  ['a repeated application id', requestText(PING, ['X-DATA-APPLICATION-ID: 1001']), 3001],
  ['a repeated content type', requestText(PING, ['content-type: application/json']), 1006],
  [
    'a repeated nonce',
    requestText(PING, ['x-data-timestamp: 1', 'x-data-nonce: a', 'x-data-nonce: a']),
    3000,
  ],
  ['no host', requestText(PING).replace('host: a\r\n', ''), 1003],
  ['two hosts', requestText(PING, ['host: b']), 1003],
  ['an empty query', requestText(PING).replace(V1_PATH, `${V1_PATH}?`), 1003],
  ['a path that goes up', requestText(PING).replace('/multihub/', '/multihub/../multihub/'), 1001],
  ['a fragment', requestText(PING).replace(V1_PATH, `${V1_PATH}#`), 1001],
  ['a whole URL as its target', requestText(PING).replace(V1_PATH, `http://a${V1_PATH}`), 1001],
  ['a large length', requestText(PING, ['content-length: 1048577']), 1003],
  ['an upgrade', requestText(PING, ['connection: upgrade', 'upgrade: websocket'], 'GET'), 1007],
  ['TRACE', requestText(PING, [], 'TRACE'), 1007],
  ['QUERY', requestText(PING, [], 'QUERY'), 1007],
  ['PROPFIND', requestText(PING, [], 'PROPFIND'), 1007],
])('refuses %s', async (_what, text, code) => {
  expect(codesIn(await talk(text, answered(1)))).toEqual([code])
})

test('takes a chunked body, and refuses one that grows beyond 1 MiB without being told its length', async () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
  const chunked = (text: string, chunks: string): string => {
    const whole = requestText(text, ['transfer-encoding: chunked'])
    return `${whole.slice(0, whole.length - text.length)}${chunks}0\r\n\r\n`
  }
  const small = await talk(chunked(PING, chunk(PING.slice(0, 5)) + chunk(PING.slice(5))), answered(1))
  expect(small).toMatch(/pong/)
  const large = await talk(chunked('', chunk(' '.repeat(65_536)).repeat(17)) + requestText(PING), answered(2))
  expect(codesIn(large)).toEqual([1003])
  expect(large).toMatch(/pong/)
})

test('goes on with the connection after refusing a body that it did not read', async () => {
  const large = requestText(' '.repeat(1_100_000))
  const wrong_type = requestText(PING).replace('application/json', 'text/plain')
  const received = await talk(large + wrong_type + requestText(PING), answered(3))
  expect(codesIn(received)).toEqual([1003, 1006])
  expect(received).toMatch(/pong/)
})

test('asks for the body of a request that waits to be asked', async () => {
  const received = await talk(requestText(PING, ['expect: 100-continue']), answered(1))
  expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
  expect(await talk(requestText(PING, ['expect: something']), answered(1))).toMatch(/pong/)
})

test('answers what came whole before it closes over what came broken', async () => {
  const received = talk(`${requestText(BALANCE)}garbage\r\n\r\n`)
  await asked
  release()
  const text = await received
  expect(answersIn(text)).toBe(1)
  expect(text).toMatch(/"balance"/)
})

test('survives callers that go away at any point', async () => {
  const text = requestText(BALANCE)
  for (const length of [1, 30, text.length - 1, text.length]) {
    const socket = connect({ port: port(), host: '127.0.0.1' })
    await once(socket, 'connect')
    socket.write(text.slice(0, length))
    await new Promise((resolve) => setImmediate(resolve))
    socket.resetAndDestroy()
  }
  await asked
  release()
  expect(await talk(requestText(PING), answered(1))).toMatch(/pong/)
})

test('has a limit of time for every part of an exchange', () => {
  const { server } = app
  expect([server.headersTimeout, server.requestTimeout, server.timeout]).toEqual([10_000, 30_000, 75_000])
})

test.each([
  ['a head that does not end', `POST ${V1_PATH} HTTP/1.1\r\nhost: a\r\n`],
  ['a body that does not end', requestText(PING, ['content-length: 100'])],
])('does not wait for %s', async (_what, text) => {
  app.server.headersTimeout = 1
  app.server.requestTimeout = 1
  const received = await talk(text)
  expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  expect(codesIn(received)).toEqual([1003])
})

test('lets the request under way end when it is closed', async () => {
  const received = talk(requestText(BALANCE))
  await asked
  const closed = app.close()
  release()
  expect(await received).toMatch(/"balance"/)
  await closed
})
