import { createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { allowPublicAddressesAnd } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/http/client.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { collectGarbage } from '../../../test/support/collect-garbage.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { pour } from '../../../test/support/hostile-server.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { IS_WHOLE } from '../../../test/support/property-runs.ts'
import type { AttemptResult } from '../domain/attempt.ts'
import { createPostDelivery, type PostDelivery } from './post-delivery.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`
const HUNDRED_MB = 100 * 1024 * 1024
/** A thousand times as large when it is decompressed. */
const BOMB = gzipSync(Buffer.alloc(16 * 1024 * 1024))

/** Fields of 64 bytes: the client makes an error of each field behind its limit, so short ones would be what the test measures. */
const HEADERS = `x: ${'y'.repeat(59)}\r\n`.repeat(1_000)

/** Writes `piece` again and again, a little at a time, without an end. */
function drip(socket: Socket, first: string, piece: string): void {
  socket.write(first)
  const timer = setInterval(() => socket.write(piece), 5)
  socket.on('close', () => clearInterval(timer))
}

interface Behaviour {
  readonly speak: (socket: Socket) => void
  readonly result: Partial<AttemptResult>
  /** It ends only with the time limit of the attempt, or with the second that the body of a response has. */
  readonly hangs?: true
}

const DELIVERED = { http_status: 200 }

/** What receivers do, by the path of their URL, and what the attempt comes to (traps.md: Receivers to survive). */
const RECEIVERS: Readonly<Record<string, Behaviour>> = {
  'never-answers': { speak() {}, result: { failure: 'timeout' }, hangs: true },
  'stops-in-header': {
    speak: (socket) => void socket.write(`${OK}x: `),
    result: { failure: 'timeout' },
    hangs: true,
  },
  'slow-header': {
    speak: (socket) => drip(socket, OK, 'x: y\r\n'),
    result: { failure: 'timeout' },
    hangs: true,
  },
  'slow-status-line': {
    speak: (socket) => drip(socket, 'HTTP/1.1 200 ', 'O'),
    result: { failure: 'timeout' },
    hangs: true,
  },
  'huge-header': {
    speak: (socket) => pour(socket, `${OK}x: ${'y'.repeat(65_536)}`),
    result: { failure: 'too_large' },
  },
  'endless-headers': {
    speak: (socket) => pour(socket, HEADERS, OK),
    result: { failure: 'too_large' },
  },
  'endless-empty-lines': {
    speak: (socket) => pour(socket, '\r\n'.repeat(10_000)),
    result: { failure: 'too_large' },
  },
  'endless-status-line': {
    speak: (socket) => pour(socket, 'O'.repeat(65_536), 'HTTP/1.1 200 '),
    result: { failure: 'too_large' },
  },
  'flood-of-100': {
    speak: (socket) => pour(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)),
    result: { failure: 'bad_response' },
  },
  'flood-of-103': {
    speak: (socket) => pour(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20)),
    result: { failure: 'bad_response' },
  },
  'switches-protocols': {
    speak: (socket) =>
      void socket.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    result: { failure: 'bad_response' },
  },
  'not-http': { speak: (socket) => void socket.end('SSH-2.0-x\r\n'), result: { failure: 'bad_response' } },
  'resets-at-once': {
    speak: (socket) => void socket.resetAndDestroy(),
    result: { failure: 'reset' },
  },
  'closes-at-once': { speak: (socket) => void socket.end(), result: { failure: 'reset' } },
  'closes-in-header': { speak: (socket) => void socket.end(`${OK}x: `), result: { failure: 'reset' } },
  'two-lengths': {
    speak: (socket) => void socket.write(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
    result: { failure: 'bad_response' },
  },
  'length-and-chunks': {
    speak: (socket) =>
      void socket.write(`${OK}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n`),
    result: { failure: 'bad_response' },
  },
  'answers-twice': {
    speak: (socket) => void socket.write(`${OK}content-length: 0\r\n\r\n`.repeat(2)),
    result: DELIVERED,
  },
  'body-of-100-mb': {
    speak: (socket) => pour(socket, 'x'.repeat(65_536), `${OK}content-length: ${HUNDRED_MB}\r\n\r\n`),
    result: DELIVERED,
  },
  'endless-body': { speak: (socket) => pour(socket, 'x'.repeat(65_536), `${OK}\r\n`), result: DELIVERED },
  'endless-chunks': {
    speak: (socket) => pour(socket, `3e8\r\n${'a'.repeat(1_000)}\r\n`, CHUNKED),
    result: DELIVERED,
  },
  'endless-chunk-length': { speak: (socket) => pour(socket, '0'.repeat(65_536), CHUNKED), result: DELIVERED },
  'endless-chunk-extension': {
    speak: (socket) => pour(socket, 'a'.repeat(65_536), `${CHUNKED}1;`),
    result: DELIVERED,
  },
  'endless-trailers': {
    speak: (socket) => pour(socket, HEADERS, `${CHUNKED}0\r\n`),
    result: DELIVERED,
  },
  'drips-body': { speak: (socket) => drip(socket, CHUNKED, '1\r\na\r\n'), result: DELIVERED, hangs: true },
  'stops-in-body': {
    speak: (socket) => void socket.write(`${OK}content-length: 99\r\n\r\nx`),
    result: DELIVERED,
    hangs: true,
  },
  'closes-in-body': {
    speak: (socket) => void socket.end(`${OK}content-length: 99\r\n\r\nx`),
    result: DELIVERED,
  },
  'resets-in-body': {
    speak: (socket) => void socket.write(`${OK}content-length: 99\r\n\r\nx`, () => socket.resetAndDestroy()),
    result: DELIVERED,
  },
  'invalid-chunk': { speak: (socket) => void socket.write(`${CHUNKED}zz\r\n`), result: DELIVERED },
  'gzip-bomb': {
    speak(socket) {
      socket.write(`${OK}content-encoding: gzip\r\ncontent-length: ${BOMB.length}\r\n\r\n`)
      socket.write(BOMB)
    },
    result: DELIVERED,
  },
  ...Object.fromEntries(
    [300, 301, 302, 303, 304, 305, 307, 308, 399].map((http_status) => [
      `redirects-with-${http_status}`,
      {
        speak: (socket: Socket) =>
          void socket.write(`HTTP/1.1 ${http_status} X\r\nlocation: /healthy\r\ncontent-length: 0\r\n\r\n`),
        result: { http_status },
      },
    ]),
  ),
}

/** The first byte of a TLS connection. */
const TLS_HANDSHAKE = 22
const HEALTHY = 'HTTP/1.1 204 No Content\r\n\r\n'

const sockets = new Set<Socket>()
const requests: string[] = []
let listening: Listening
let clock: InstalledClock
const clients: HttpClient[] = []

beforeAll(async () => {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data) => {
      const path = /^POST \/([^ ]+)/.exec(String(data))?.[1]
      if (path !== undefined) requests.push(path)
      if (data[0] === TLS_HANDSHAKE) socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
      else if (path === undefined) return
      else if (path === 'healthy') socket.write(HEALTHY)
      else RECEIVERS[path]?.speak(socket)
    })
  })
  listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
})
afterAll(() => listening.close(0))
beforeEach(() => {
  clock = installManualClock()
  requests.length = 0
})
afterEach(async () => {
  clock[Symbol.dispose]()
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

/** Makes a sender with this many connections to the server. */
function createSender(connections_per_origin: number): PostDelivery {
  const allow = allowPublicAddressesAnd(['127.0.0.1/32'])
  const client = createHttpClient({ allow, connections_per_origin, connect_timeout_ms: 0 })
  clients.push(client)
  return createPostDelivery({ test: client, production: client }, new AbortController().signal)
}

const TIMEOUT_MS = 30_000

const deliver = (
  post: PostDelivery,
  path: string,
  base_url = `http://${listening.host_and_port}/`,
): Promise<AttemptResult> =>
  post({
    url: `${base_url}${path}`,
    environment: 'test',
    body: Buffer.from('{"id":"1"}'),
    timeout_ms: TIMEOUT_MS,
    sign: () => ({}),
  })

/** Delivers to these paths at once. The clock moves when all requests have arrived, so that those that hang end. */
async function deliverAll(post: PostDelivery, paths: readonly string[]): Promise<AttemptResult[]> {
  const before = requests.length
  const results = paths.map((path) => deliver(post, path))
  let ended = 0
  for (const result of results) void result.finally(() => (ended += 1))
  await eventually(
    async () => requests.length - before,
    (arrived) => arrived === paths.length,
  )
  const ending = paths.filter((path) => !RECEIVERS[path]?.hangs)
  await eventually(
    async () => ended,
    (count = 0) => count >= ending.length,
  )
  await clock.advance(TIMEOUT_MS)
  return Promise.all(results)
}

/** Waits until no socket is open at the server, except those that wait for the next request. */
const allClosed = (kept: number): Promise<number> =>
  eventually(
    async () => sockets.size,
    (open = 0) => open <= kept,
  )

const NAMES = Object.keys(RECEIVERS)
const PER_ORIGIN = 3

// N4
describe('a receiver that misbehaves', () => {
  test.each(NAMES)('%s: the attempt ends, and gives back its connection and its memory', async (name) => {
    const post = createSender(PER_ORIGIN)
    const results = await deliverAll(
      post,
      Array.from({ length: PER_ORIGIN }, () => name),
    )
    for (const result of results) {
      expect(result).toMatchObject(RECEIVERS[name]?.result ?? {})
      expect(result.response_start?.length ?? 0).toBeLessThanOrEqual(4_096)
    }
    // All connections of the origin were used, so this delivery gets one of them.
    expect(await deliver(post, 'healthy')).toMatchObject({ http_status: 204 })
    await allClosed(PER_ORIGIN)
    expect(requests.filter((path) => path === name)).toHaveLength(PER_ORIGIN)
  })

  test('does not speak TLS', async () => {
    const post = createSender(1)
    expect(await deliver(post, 'healthy', `https://${listening.host_and_port}/`)).toMatchObject({
      failure: 'tls',
    })
    expect(await deliver(post, 'healthy')).toMatchObject({ http_status: 204 })
  })

  test('does not end the TLS handshake: the attempt ends with its time limit, and gives back its connection', async () => {
    const server = createServer((socket) => void socket.on('error', () => {}).resume())
    const silent = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
    try {
      const post = createSender(1)
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const result = deliver(post, '', `https://${silent.host_and_port}/`)
        await settled()
        await clock.advance(TIMEOUT_MS)
        expect(await result).toMatchObject({ failure: 'timeout_connect', duration_ms: TIMEOUT_MS })
      }
    } finally {
      await silent.close(0)
    }
  })

  test('sends a compressed body: the record has the bytes as they were sent', async () => {
    const { response_start } = await deliver(createSender(1), 'gzip-bomb')
    expect(Buffer.from(response_start ?? [])).toEqual(BOMB.subarray(0, 4_096))
  })
})

const COPIES = IS_WHOLE ? 12 : 3
/** The records of two rounds. It would be 9 MB with all of the responses that was read, instead of their beginning. */
const GROWTH_MAX_BYTES = 4 * 1024 * 1024

/** Buffers are given back some turns after their garbage collection, so one measurement can be too high. */
const MEASUREMENTS = 5

async function memoryInUse(): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY
  for (let measurement = 0; measurement < MEASUREMENTS; measurement += 1) {
    await settled()
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    lowest = Math.min(lowest, heapUsed + external)
  }
  return lowest
}

test('many of them at once leave memory and connections as they were', async () => {
  const many = NAMES.flatMap((name) => Array.from({ length: COPIES }, () => name))
  const post = createSender(many.length)
  const records: AttemptResult[] = []
  const round = async (): Promise<void> => {
    const results = await deliverAll(post, many)
    records.push(...results)
    for (const [at, result] of results.entries())
      expect(result).toMatchObject(RECEIVERS[many[at] ?? '']?.result ?? {})
    expect(await deliver(post, 'healthy')).toMatchObject({ http_status: 204 })
    await clock.advance(TIMEOUT_MS)
    await allClosed(many.length)
  }
  await round()
  const first = await memoryInUse()
  await round()
  await round()
  await eventually(memoryInUse, (bytes = Number.POSITIVE_INFINITY) => bytes - first < GROWTH_MAX_BYTES)
  expect(records).toHaveLength(3 * many.length)
})
