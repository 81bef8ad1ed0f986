import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { isUuid } from '#lib/base/ids.ts'
import { createTestGateway, SECRET } from '../gateway.fixture.ts'
import { V1_PATH } from '../paths.ts'
import { PING, type RequestHead, requestText, type SocketResponse, sendBytes } from './socket.fixture.ts'

let app: FastifyInstance

beforeAll(async () => {
  app = await createTestGateway()
  await app.listen({ port: 0, host: '127.0.0.1' })
})

afterAll(() => app.close())

/** The content of a response: `pong`, or the code of its error. Fails when it is not an envelope. */
function contentOf({ http_status, headers, body }: SocketResponse): 'pong' | 'continue' | number {
  if (http_status === 100) return 'continue'
  const envelope = JSON.parse(body)
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(headers.get('x-request-id')).toBe(envelope.request_id)
  expect(isUuid(envelope.request_id)).toBe(true)
  const signed = headers.get('x-data-hash')
  if (signed !== undefined) expect(signed).toBe(sha512WithSecret(Buffer.from(body), new Secret(SECRET)))
  if (!envelope.success) return envelope.error.code
  expect([http_status, signed]).toEqual([200, expect.any(String)])
  return envelope.result.message
}

const ping = (head: RequestHead = {}): string => requestText(PING, head)
const withTarget = (target: string): string => ping({ target })
const withHeaders = (...lines: string[]): string => ping({ header_lines: lines })
const CHUNKED = 'transfer-encoding: chunked'
const SIZE = PING.length.toString(16)
const CHUNKS = `${SIZE}\r\n${PING}\r\n0\r\n\r\n`
/** A chunked request with these bytes after its head, and with more header lines. */
const withChunks = (sent: string, ...lines: string[]): string =>
  ping({ header_lines: [CHUNKED, ...lines], body_on_wire: sent })
const withCoding = (coding: string): string =>
  ping({ header_lines: [`transfer-encoding:${coding}`], body_on_wire: CHUNKS })
/** Whether the gateway closes the connection after its responses. */
const OPEN = false
const CLOSED = true

test.each<[string, string | Buffer, ('pong' | 'continue' | number)[], boolean]>([
  // The framing of the body.
  ['chunks', withChunks(CHUNKS), ['pong'], OPEN],
  ['a coding in capitals', withCoding(' CHUNKED'), ['pong'], OPEN],
  ['a length with leading zeros', withHeaders(`content-length: 00${PING.length}`), ['pong'], OPEN],
  ['chunks and a length', withChunks(CHUNKS, 'content-length: 3'), [1003], CLOSED],
  [
    'a length and chunks',
    ping({ header_lines: ['content-length: 3', CHUNKED], body_on_wire: CHUNKS }),
    [1003],
    CLOSED,
  ],
  ['chunked in two headers', withChunks(CHUNKS, CHUNKED), [1003], CLOSED],
  ['chunked twice in one', withCoding(' chunked, chunked'), [1003], CLOSED],
  ['compressed chunks', withCoding(' gzip, chunked'), [1003], OPEN],
  ['chunked, then another coding', withCoding(' chunked, identity'), [1003], CLOSED],
  ['another coding', withCoding(' xchunked'), [1003], CLOSED],
  ['a coding in quotes', withCoding(' "chunked"'), [1003], CLOSED],
  ['no coding', withCoding(''), [1003], CLOSED],
  ['a folded coding', withCoding('\r\n chunked'), [1003], CLOSED],
  [
    'chunks in HTTP/1.0',
    ping({ header_lines: [CHUNKED], body_on_wire: CHUNKS, version: 'HTTP/1.0' }),
    [1003],
    CLOSED,
  ],
  ['a chunk extension', withChunks(CHUNKS.replace('\r\n', ';a=b\r\n')), ['pong'], OPEN],
  [
    'a long chunk extension',
    withChunks(CHUNKS.replace('\r\n', `;${'a'.repeat(20_000)}\r\n`)),
    [1003],
    CLOSED,
  ],
  ['a trailer', withChunks(`${SIZE}\r\n${PING}\r\n0\r\nx-a: b\r\n\r\n`), ['pong'], OPEN],
  [
    'a length as a trailer',
    withChunks(`${SIZE}\r\n${PING}\r\n0\r\ncontent-length: 1\r\n\r\n`),
    [1003],
    CLOSED,
  ],
  ['long trailers', withChunks(`0\r\nx-a: ${'b'.repeat(20_000)}\r\n\r\n`), [1003], CLOSED],
  ['a negative chunk', withChunks('-1\r\n'), [1003], CLOSED],
  ['a chunk size with 0x', withChunks(`0x${CHUNKS}`), [1003], CLOSED],
  ['a chunk size beyond 64 bits', withChunks('ffffffffffffffffff\r\na'), [1003], CLOSED],
  ['chunks with bare line feeds', withChunks(CHUNKS.replaceAll('\r\n', '\n')), [1003], CLOSED],
  ['a chunk that is longer than it says', withChunks(CHUNKS.replace(SIZE, '5')), [1003], CLOSED],
  ['a blank before a chunk size', withChunks(` ${CHUNKS}`), [1003], CLOSED],
  ['a length twice', withHeaders('content-length: 37', 'content-length: 37'), [1003], CLOSED],
  ['a list of lengths', withHeaders('content-length: 37, 37'), [1003], CLOSED],
  ['a length with a plus', withHeaders('content-length: +37'), [1003], CLOSED],
  ['a negative length', withHeaders('content-length: -37'), [1003], CLOSED],
  ['a length in hexadecimal', withHeaders('content-length: 0x25'), [1003], CLOSED],
  ['a length beyond 64 bits', withHeaders('content-length: 99999999999999999999'), [1003], CLOSED],
  ['a length beyond doubles', withHeaders('content-length: 9007199254740993'), [1003], OPEN],
  ['an empty length', withHeaders('content-length: '), [1003], CLOSED],
  ['a length with a blank in it', withHeaders('content-length: 3 7'), [1003], CLOSED],
  // The request line.
  ['an absolute target', withTarget(`http://a${V1_PATH}`), ['pong'], OPEN],
  ['an absolute target with a port and capitals', withTarget(`HTTPS://u@A:1${V1_PATH}`), ['pong'], OPEN],
  ['an absolute target and another verb', ping({ verb: 'PUT', target: `http://a${V1_PATH}` }), [1007], OPEN],
  ['an absolute target with an unknown path', withTarget('http://a/x'), [1001], OPEN],
  ['an absolute target without a path', withTarget('http://a'), [1001], OPEN],
  ['an absolute target with a query', withTarget(`http://a${V1_PATH}?a=b`), [1003], OPEN],
  ['an absolute target with a query only', withTarget('http://a?a=b'), [1001], OPEN],
  ['an absolute target in an absolute target', withTarget(`http://a/http://a${V1_PATH}`), [1001], OPEN],
  ['an absolute target of another scheme', withTarget(`ftp://a${V1_PATH}`), [1001], OPEN],
  ['an asterisk', ping({ verb: 'OPTIONS', target: '*' }), [1001], OPEN],
  ['a host as the target', withTarget('a:80'), [1003], CLOSED],
  ['a target without a slash', withTarget('public'), [1003], CLOSED],
  ['a CONNECT to another host', ping({ verb: 'CONNECT', target: 'a:80' }), [1003], CLOSED],
  ['a CONNECT to the public path', ping({ verb: 'CONNECT' }), [1003], CLOSED],
  [
    'a complete request, then a CONNECT',
    ping() + ping({ verb: 'CONNECT', target: 'a:80' }),
    ['pong', 1003],
    CLOSED,
  ],
  ['HTTP/0.9', `GET ${V1_PATH}\r\n\r\n`, [1007], CLOSED],
  ['HTTP/1.0', ping({ version: 'HTTP/1.0' }), ['pong'], CLOSED],
  [
    'HTTP/1.0 kept alive',
    ping({ version: 'HTTP/1.0', header_lines: ['connection: keep-alive'] }),
    ['pong'],
    OPEN,
  ],
  ['HTTP/1.2', ping({ version: 'HTTP/1.2' }), [1003], CLOSED],
  ['HTTP/2.0 as a line', ping({ version: 'HTTP/2.0' }), [1003], CLOSED],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0', [1003], CLOSED],
  ['a verb in small letters', ping({ verb: 'post' }), [1003], CLOSED],
  ['OPTIONS', ping({ verb: 'OPTIONS' }), [1007], OPEN],
  ['PUT', ping({ verb: 'PUT' }), [1007], OPEN],
  ['DELETE', ping({ verb: 'DELETE' }), [1007], OPEN],
  [
    'another verb on the resend path',
    ping({ verb: 'GET', target: '/api/v1/payments/1/webhook/resend' }),
    [1007],
    OPEN,
  ],
  ['another verb on an unknown path', ping({ verb: 'GET', target: '/' }), [1001], OPEN],
  ['a long target', withTarget(`/${'a'.repeat(15_000)}`), [1001], OPEN],
  ['a target longer than a head may be', withTarget(`/${'a'.repeat(100_000)}`), [1003], CLOSED],
  ['a percent-encoded letter', withTarget(V1_PATH.replace('m', '%6d')), [1001], OPEN],
  ['a percent-encoded slash', withTarget(V1_PATH.replace('/m', '%2fm')), [1001], OPEN],
  ['an invalid percent encoding', withTarget('/%zz'), [1001], OPEN],
  ['a percent after the path', withTarget(`${V1_PATH}%`), [1001], OPEN],
  ['a double slash', withTarget(`/${V1_PATH}`), [1001], OPEN],
  ['a slash at the end', withTarget(`${V1_PATH}/`), [1001], OPEN],
  ['a dot segment', withTarget(V1_PATH.replace('/api', '/./api')), [1001], OPEN],
  ['two dots', withTarget(V1_PATH.replace('/api', '/x/../api')), [1001], OPEN],
  ['capitals', withTarget(V1_PATH.toUpperCase()), [1001], OPEN],
  ['a semicolon', withTarget(`${V1_PATH};a=b`), [1001], OPEN],
  ['a name of the prototype', withTarget('/__proto__'), [1001], OPEN],
  ['the resend path without an id', withTarget('/api/v1/payments//webhook/resend'), [1001], OPEN],
  ['the resend path with a bad id', withTarget('/api/v1/payments/%zz/webhook/resend'), [1001], OPEN],
  ['a query', withTarget(`${V1_PATH}?a=b`), [1003], OPEN],
  ['NUL in the target', withTarget(`${V1_PATH}\0`), [1003], CLOSED],
  [
    'a letter beyond ASCII in the target',
    Buffer.from(withTarget(`${V1_PATH}\xe9`), 'latin1'),
    [1003],
    CLOSED,
  ],
  // Headers.
  ['a folded header', withHeaders('x-a: b', ' c'), [1003], CLOSED],
  ['NUL in a header', withHeaders('x-a: b\0c'), [1003], CLOSED],
  ['NUL in the name of a header', withHeaders('x\0a: b'), [1003], CLOSED],
  ['a control byte in a header', withHeaders('x-a: b\x01c'), [1003], CLOSED],
  ['DEL in a header', withHeaders('x-a: b\x7fc'), [1003], CLOSED],
  ['a letter beyond ASCII in a header', Buffer.from(withHeaders('x-a: \xe9'), 'latin1'), ['pong'], OPEN],
  ['bare line feeds', ping().replaceAll('\r\n', '\n'), [1003], CLOSED],
  ['a bare carriage return', withHeaders('x-a: b\rx-c: d'), [1003], CLOSED],
  ['a header without a name', withHeaders(': b'), [1003], CLOSED],
  ['a header without a colon', withHeaders('abc'), [1003], CLOSED],
  ['150 headers', withHeaders(...Array.from({ length: 150 }, (_, number) => `x-${number}: a`)), [1003], OPEN],
  [
    '5,000 headers',
    withHeaders(...Array.from({ length: 5_000 }, (_, number) => `x-${number}: a`)),
    [1003],
    CLOSED,
  ],
  ['no content type', ping({ content_type: '' }), [1006], OPEN],
  ['another content type', ping({ content_type: 'text/plain' }), [1006], OPEN],
  ['another charset', ping({ content_type: 'application/json; charset=utf-16' }), [1006], OPEN],
  [
    'the charset utf-8 in capitals',
    ping({ content_type: 'Application/JSON;Charset="UTF-8"' }),
    ['pong'],
    OPEN,
  ],
  ['a content encoding', withHeaders('content-encoding: gzip'), [1006], OPEN],
  ['the content encoding identity', withHeaders('content-encoding: identity'), [1006], OPEN],
  ['an expectation', withHeaders('expect: 100-continue'), ['continue', 'pong'], OPEN],
  ['an unknown expectation', withHeaders('expect: 200-ok'), ['pong'], OPEN],
  ['an offer of WebSocket', withHeaders('connection: upgrade', 'upgrade: websocket'), ['pong'], CLOSED],
  [
    'an offer of HTTP/2',
    withHeaders('connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AA'),
    ['pong'],
    CLOSED,
  ],
  [
    'an offer of HTTP/2 followed by a request',
    withHeaders('connection: upgrade', 'upgrade: h2c') + ping(),
    ['pong'],
    CLOSED,
  ],
  // Several requests, or a part of one.
  ['empty lines first', `\r\n\r\n${ping()}`, ['pong'], OPEN],
  [
    'many pipelined requests',
    (ping() + requestText('{') + ping({ verb: 'GET' })).repeat(10),
    Array.from({ length: 10 }, () => ['pong', 1005, 1007] as const).flat(),
    OPEN,
  ],
  ['a request after connection: close', withHeaders('connection: close') + ping(), ['pong'], CLOSED],
  ['garbage after a complete request', `${ping()}\0\0`, ['pong', 1003], CLOSED],
  [
    'invalid chunks of a body that is refused anyway',
    ping({ header_lines: [CHUNKED], content_type: 'text/plain', body_on_wire: 'zz\r\n' }),
    [1003],
    CLOSED,
  ],
])('%s', async (_what, bytes, expected, closed) => {
  const result = await sendBytes(app, bytes, closed === CLOSED ? undefined : expected.length)
  expect(result.responses.map(contentOf)).toEqual(expected)
  expect(result.closed_by_gateway).toBe(closed)
  expect((await sendBytes(app, ping(), 1)).responses.map(contentOf)).toEqual(['pong'])
})

test.each<[string, string, ('pong' | number)[]]>([
  ['nothing', '', []],
  ['half a head', ping().slice(0, 50), [1003]],
  ['half a body', ping().slice(0, -5), [1003]],
  ['half a body that was refused', ping({ content_type: 'text/plain' }).slice(0, -5), [1006]],
  ['one request', ping(), ['pong']],
  ['two requests', ping() + ping(), ['pong', 'pong']],
  ['a request and half of another', ping({ verb: 'GET' }) + ping().slice(0, 50), [1007, 1003]],
])('answers a client that sends %s and ends its side', async (_what, bytes, expected) => {
  const { responses } = await sendBytes(app, bytes, 0)
  expect(responses.map(contentOf)).toEqual(expected)
})
