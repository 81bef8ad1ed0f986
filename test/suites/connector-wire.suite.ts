import type { Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import type { Connector } from '../../services/payments/connectors/connector.ts'
import { provenBy } from '../../services/payments/connectors/create-result.fixture.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { type HeldTimers, holdTimers } from '../support/held-timers.ts'
import { type HostileServer, pour, startHostileServer } from '../support/hostile-server.ts'
import type { ReadConnector } from './connector.suite.ts'
import { orderOf } from './connector-orders.ts'

/** No other timer has this delay, or is up to `CONNECTION_WAIT_MAX_MS` shorter. */
const TIMEOUT_MS = 29_717_000
/** What a request spends of its time before it has a connection, on a machine as slow as it may be. */
const CONNECTION_WAIT_MAX_MS = 1_000_000

const HTML = '<html>proxy</html>'
/** What proxies and frameworks respond with by themselves, for a provider that may have the operation. */
const PROXY_ERRORS = ['{"error":"Bad Gateway"}', '{"error":"internal_error"}', '{"error":"Timeout: retry"}']
const withBody = (status: string, body: string, headers = ''): string =>
  `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** Servers that read the request and do not answer it as any provider protocol says. The operation may exist. */
const MISBEHAVIOURS: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['resets the connection', (socket) => void socket.resetAndDestroy()],
  ['closes the connection', (socket) => void socket.end()],
  ['answers with bytes that are not HTTP', (socket) => void socket.end('\x16\x03 hello\r\n\r\n')],
  [
    'cuts its answer, which has a length',
    (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"accepted":'),
  ],
  [
    'cuts its answer, which has chunks',
    (socket) => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"acc'),
  ],
  ['answers with half of a JSON text', (socket) => void socket.end(withBody('200 OK', '{"accepted":tr'))],
  ['answers without a body', (socket) => void socket.end(withBody('200 OK', ''))],
  ['answers with 204', (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')],
  ['answers with a web page', (socket) => void socket.end(withBody('200 OK', HTML))],
  ['answers with other JSON', (socket) => void socket.end(withBody('200 OK', '{"status":"success"}'))],
  ...PROXY_ERRORS.flatMap((body) =>
    ['429 Too Many Requests', '500 Status', '502 Status'].map(
      (status): [string, (socket: Socket) => void] => [
        `answers with the error of a proxy under ${status}: ${body}`,
        (socket) => void socket.end(withBody(status, body)),
      ],
    ),
  ),
  ['answers with a list', (socket) => void socket.end(withBody('200 OK', '[]'))],
  ['answers with null', (socket) => void socket.end(withBody('200 OK', 'null'))],
  [
    'answers with bytes that are not UTF-8',
    (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe', 'latin1'),
  ],
  [
    'answers with compressed bytes',
    (socket) => void socket.end(withBody('200 OK', '\x1f\x8b\x08', 'Content-Encoding: gzip\r\n')),
  ],
  ['answers with 100 kB', (socket) => void socket.end(withBody('200 OK', `"${'x'.repeat(100_000)}"`))],
  ['answers without end', (socket) => pour(socket, 'x'.repeat(65_536), 'HTTP/1.1 200 OK\r\n\r\n')],
  [
    'answers with a head without end',
    (socket) => pour(socket, `X-Filler: ${'x'.repeat(1_000)}\r\n`, 'HTTP/1.1 200 OK\r\n'),
  ],
  ...[301, 302, 303, 307, 308].map((status): [string, (socket: Socket) => void] => [
    `redirects with ${status}`,
    (socket) => void socket.end(withBody(`${status} Moved`, '', 'Location: /elsewhere\r\n')),
  ]),
  ...[400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504].map(
    (status): [string, (socket: Socket) => void] => [
      `answers with the page of a proxy under ${status}`,
      (socket) => void socket.end(withBody(`${status} Status`, HTML)),
    ],
  ),
]

/** What a connector must make of failures on the wire: `not_sent` only when no byte of the request left (P4). */
export function wireSuite(read: ReadConnector): void {
  const closers: (() => Promise<void>)[] = []
  const restores: (() => void)[] = []
  afterEach(async () => {
    for (const restore of restores.splice(0)) restore()
    await Promise.all(closers.splice(0).map((close) => close()))
  })

  /** Lets the time limits of requests elapse when the test says so. */
  function hold(): HeldTimers {
    const timers = holdTimers(TIMEOUT_MS, CONNECTION_WAIT_MAX_MS)
    restores.push(useClock(timers.clock))
    return timers
  }

  async function serve(speak: (socket: Socket) => void): Promise<HostileServer> {
    const server = await startHostileServer(speak)
    closers.push(() => server.close(0))
    return server
  }
  const connectTo = (base_url: string): Connector => read().connectTo(base_url)
  const order = () => orderOf('deposit', { minor: 10_000n })
  const not_sent = { kind: 'not_sent', reason: expect.any(String), is_provider_failure: true }
  const unknown = { kind: 'unknown', reason: expect.any(String), is_provider_failure: true }

  /** Checks what a create, a repeated create and a lookup conclude when no byte of the request can leave. */
  async function expectNotSent(connector: Connector): Promise<void> {
    const sent = order()
    expect(await connector.create(sent, HANG_LIMIT_MS)).toEqual(not_sent)
    const repeated = await connector.create({ ...sent, earlier_result_unknown: true }, HANG_LIMIT_MS)
    expect(repeated.kind).toBe('unknown')
    expect(await connector.lookUp(sent, HANG_LIMIT_MS)).toEqual(unknown)
  }

  describe('nothing was sent when', () => {
    test('the connection is refused', () => expectNotSent(connectTo('http://127.0.0.1:1')))

    test('the server does not speak TLS', async () => {
      const { url } = await serve((socket) => void socket.end(withBody('400 Bad Request', HTML)))
      await expectNotSent(connectTo(url.replace('http:', 'https:')))
    })

    test('the server has no certificate', async () => {
      const server = createTlsServer()
      const listening: Listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
      closers.push(() => listening.close(0))
      await expectNotSent(connectTo(`https://${listening.host_and_port}`))
    })

    test('the connection is reset before the request is written', async () => {
      const { url } = await serve((socket) => void socket.resetAndDestroy())
      await expectNotSent(connectTo(url.replace('http:', 'https:')))
    })

    test('the time is over before the request is written', async () => {
      const server = await serve(() => {})
      const timers = hold()
      const result = connectTo(server.url.replace('http:', 'https:')).create(order(), TIMEOUT_MS)
      await server.read(1)
      timers.elapse()
      expect(await result).toEqual(not_sent)
    })

    test('the caller gives up before', async () => {
      const server = await serve(() => {})
      const result = await connectTo(server.url).create(order(), HANG_LIMIT_MS, AbortSignal.abort())
      expect(result).toEqual({ kind: 'not_sent', reason: 'aborted' })
      expect(server.requests()).toBe(0)
    })
  })

  describe('it is unknown when', () => {
    test('the time is over after the request was written', async () => {
      const server = await serve(() => {})
      const timers = hold()
      const results = [
        connectTo(server.url).create(order(), TIMEOUT_MS),
        connectTo(server.url).lookUp(order(), TIMEOUT_MS),
      ]
      await server.read(2)
      timers.elapse()
      expect(await Promise.all(results)).toEqual([unknown, unknown])
    })

    test('the caller gives up after the request was written, which is not a failure of the provider', async () => {
      const stop = new AbortController()
      const server = await serve(() => stop.abort())
      const result = await connectTo(server.url).create(order(), HANG_LIMIT_MS, stop.signal)
      expect(result).toEqual({ kind: 'unknown', reason: 'aborted' })
    })

    test.each(MISBEHAVIOURS)('the server %s', async (_what, speak) => {
      const server = await serve(speak)
      const connector = connectTo(server.url)
      expect(await provenBy(connector.create(order(), HANG_LIMIT_MS))).toEqual(unknown)
      expect(server.requests()).toBe(1)
      expect(await connector.lookUp(order(), HANG_LIMIT_MS)).toEqual(unknown)
      expect(server.requests()).toBe(2)
    })
  })
}
