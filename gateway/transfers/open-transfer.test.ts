import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { now, useClock } from '#lib/base/time.ts'
import { DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { StreamRequest } from '#lib/http/internal-link.ts'
import { type LinkKind, sealLink } from '#lib/patterns/attachment-link.ts'
import { eventually } from '../../test/support/eventually.ts'
import { holdTimers } from '../../test/support/held-timers.ts'
import { createTestGateway, keys } from '../gateway.fixture.ts'
import { beginExchange } from '../http/exchange.ts'
import type { ExchangeLog } from '../http/exchange-log.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import type { Responder } from '../http/response.ts'
import { portOf } from '../http/socket.fixture.ts'
import { createFloodLimiter } from '../limits/flood-limiter.ts'
import { createOpenTransfer } from './open-transfer.ts'

const MINUTE_MS = 60_000
const CONTENT = Buffer.from('a receipt\n')

/** The path of a transfer; each number is another attachment. */
function linkOf(
  merchant_id: string,
  number: number,
  valid_ms = MINUTE_MS,
  environment: Environment = 'test',
  kind: LinkKind = 'download',
): string {
  const link = { merchant_id, environment, attachment_id: `attachment-${number}` }
  const expires_at = new Date(now().getTime() + valid_ms)
  const file = { mime_type: 'text/plain', size_bytes: CONTENT.length } as const
  const path = kind === 'download' ? DOWNLOAD_PATH : UPLOAD_PATH
  return path + sealLink(keys.link, kind, { ...link, ...file, expires_at })
}

/** A gateway whose attachments service keeps each download waiting until `finish` is called. */
async function startTransfers() {
  const { promise, resolve: finish } = Promise.withResolvers<void>()
  const requests: StreamRequest[] = []
  const app = await createTestGateway({
    async sendToAttachments(request) {
      requests.push(request)
      await promise
      return { status: 200, headers: {}, body: only(CONTENT) }
    },
  })
  const get = async (path: string): Promise<Response> => {
    const { statusCode: status, headers, payload } = await app.inject({ method: 'GET', url: path })
    return { status, headers, refusal: status === 200 ? undefined : JSON.parse(payload).error }
  }
  return {
    requests,
    finish,
    get,
    /** Begins downloads, and waits until each has reached the attachments service. */
    async begin(paths: readonly string[]): Promise<readonly Promise<Response>[]> {
      const expected = requests.length + paths.length
      const begun = paths.map(get)
      await eventually(
        async () => requests.length,
        (length) => length === expected,
      )
      return begun
    },
  }
}

interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly refusal: unknown
}

async function* only(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content
}

const times = <T>(count: number, make: (number: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, number) => make(number))
const tooMany = (limit: number) => ({
  status: 429,
  headers: { 'retry-after': '1' },
  refusal: { code: 1000, details: { bucket: 'concurrency', limit, retry_after_seconds: 1 } },
})

// E10
test('the holder of one link has 4 transfers at once, and leaves the others to the merchant', async () => {
  const transfers = await startTransfers()
  const path = linkOf('a', 0)
  const begun = [...(await transfers.begin(times(4, () => path)))]
  expect(await transfers.get(path)).toMatchObject(tooMany(4))
  begun.push(...(await transfers.begin([linkOf('a', 1)])))
  transfers.finish()
  expect((await Promise.all(begun)).map(({ status }) => status)).toEqual(times(5, () => 200))
  // What has ended makes room.
  expect((await Promise.all(times(4, () => transfers.get(path)))).map(({ status }) => status)).toEqual(
    times(4, () => 200),
  )
})

// E10
test('a merchant has 32 transfers at once, and leaves the others to other merchants and environments', async () => {
  const transfers = await startTransfers()
  const begun = await transfers.begin(times(32, (number) => linkOf('a', number)))
  // Refused transfers count neither for the merchant nor for the link.
  const refused = linkOf('a', 32)
  for (let tries = 0; tries < 5; tries += 1) expect(await transfers.get(refused)).toMatchObject(tooMany(32))
  const others = await transfers.begin([linkOf('b', 0), linkOf('a', 32, MINUTE_MS, 'production')])
  transfers.finish()
  for (const { status } of await Promise.all([...begun, ...others])) expect(status).toBe(200)
  expect((await transfers.get(refused)).status).toBe(200)
})

test('a gateway has 256 transfers at once, and refuses one more with 2002', async () => {
  const transfers = await startTransfers()
  const begun = await transfers.begin(times(256, (number) => linkOf(`m-${number % 8}`, number)))
  const refused = { status: 503, refusal: { code: 2002 } }
  expect(await transfers.get(linkOf('other', 0))).toMatchObject(refused)
  // A refused transfer takes no place.
  expect(await transfers.get(linkOf('other', 0))).toMatchObject(refused)
  transfers.finish()
  await Promise.all(begun)
  for (const { status } of await Promise.all(times(5, (number) => transfers.get(linkOf('other', number)))))
    expect(status).toBe(200)
})

// F6
test('the gateway itself refuses a download link that has expired', async () => {
  const transfers = await startTransfers()
  transfers.finish()
  expect(await transfers.get(linkOf('a', 0, 0))).toMatchObject({ status: 404, refusal: { code: 13001 } })
  expect(transfers.requests).toEqual([])
})

// E10: whoever found an old link in a log must not get connections beyond the share of callers without a credential.
test('a link authenticates its connection until it expires, and a false link never does', async () => {
  const authenticated: unknown[] = []
  const openTransfer = createOpenTransfer({
    keys,
    connections: { attach() {}, markAuthenticated: (peer) => void authenticated.push(peer) },
    flood: createFloodLimiter({ failures_per_minute: 10 }),
    trusted_proxies: undefined,
    now_ms: () => now().getTime(),
    sendToAttachments: () => Promise.reject(new Error('nothing is sent')),
    responder: {} as Responder,
    exchange_log: {} as ExchangeLog,
  })
  const open = (kind: LinkKind, url: string, socket: object): void => {
    const request = { url, httpVersion: '1.1', rawHeaders: ['host', 'a'], headers: {}, socket }
    const exchange = beginExchange(request as unknown as IncomingMessage, {} as ServerResponse)
    const path = kind === 'download' ? DOWNLOAD_PATH : UPLOAD_PATH
    openTransfer(exchange, kind, new RegExp(`^${path}(.*)$`)).end()
  }
  const peer = (remotePort: number) => ({ remoteAddress: '198.51.100.7', remotePort })
  const upload = (valid_ms: number): string => linkOf('a', 0, valid_ms, 'test', 'upload')
  const [valid, expired, false_one] = [peer(1), peer(2), peer(3)]
  open('upload', upload(MINUTE_MS), valid)
  // The service refuses it: only it knows whether the session is open.
  open('upload', upload(-MINUTE_MS), expired)
  expect(() => open('download', linkOf('a', 0, -MINUTE_MS), expired)).toThrow('Attachment not found')
  expect(() => open('download', `${DOWNLOAD_PATH}false`, false_one)).toThrow('Attachment not found')
  expect(authenticated).toEqual(['198.51.100.7:1'])
})

// F6
test('a download whose bytes stop is cut off after 300 s, whatever its service does', async () => {
  const timers = holdTimers(HTTP_LIMITS.upload_timeout_ms)
  using _clock = { [Symbol.dispose]: useClock(timers.clock) }
  const { promise: never } = Promise.withResolvers<void>()
  const bodies: AsyncGenerator<Uint8Array>[] = []
  const app = await createTestGateway({
    async sendToAttachments() {
      bodies.push(stopAfterFirst(never))
      return { status: 200, headers: {}, body: bodies.at(-1) ?? only(CONTENT) }
    },
  })
  const cut = app.inject({ method: 'GET', url: linkOf('a', 0) })
  await eventually(
    async () => bodies.length,
    (length) => length === 1,
  )
  timers.elapse()
  await expect(cut).rejects.toThrow()
  expect(timers.count()).toBe(0)
})

// F2
test('an upload whose bytes stop is cut off after 300 s, also in the attachments service', async () => {
  const timers = holdTimers(HTTP_LIMITS.upload_timeout_ms)
  using _clock = { [Symbol.dispose]: useClock(timers.clock) }
  const signals: AbortSignal[] = []
  const app = await createTestGateway({
    sendToAttachments: ({ signal = AbortSignal.abort() }) =>
      new Promise((_, reject) => {
        signals.push(signal)
        signal.addEventListener('abort', () => reject(new Error('the transfer was ended')))
      }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect(portOf(app), '127.0.0.1')
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  const head = `Host: a\r\nContent-Type: text/plain\r\nContent-Length: ${CONTENT.length}`
  socket.write(`PUT ${linkOf('a', 0, MINUTE_MS, 'test', 'upload')} HTTP/1.1\r\n${head}\r\n\r\na`)
  await eventually(
    async () => signals.length,
    (length) => length === 1,
  )
  timers.elapse()
  await eventually(
    async () => received,
    (text = '') => text.includes('"code":1003'),
  )
  socket.destroy()
  await app.close()
  expect(timers.count()).toBe(0)
})

// F2
test('false links count as failed authentications of their network', async () => {
  const { get } = await startTransfers()
  const false_link = DOWNLOAD_PATH + 'x'.repeat(64)
  let response = await get(false_link)
  expect(response).toMatchObject({ status: 404, refusal: { code: 13001 } })
  for (let tries = 0; tries < 10_000 && response.status === 404; tries += 1) response = await get(false_link)
  expect(response).toMatchObject({ status: 429, refusal: { code: 1000 } })
})

async function* stopAfterFirst(until: Promise<void>): AsyncGenerator<Uint8Array> {
  yield CONTENT.subarray(0, 1)
  await until
}
