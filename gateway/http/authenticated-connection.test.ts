import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { now } from '#lib/base/time.ts'
import { DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { sealLink } from '#lib/patterns/attachment-link.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { createTestGateway, keys } from '../gateway.fixture.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { PING, portOf, requestText } from './socket.fixture.ts'

let app: FastifyInstance
let manual: InstalledClock
let accepted = 0

beforeEach(async () => {
  manual = installManualClock()
  app = await createTestGateway()
  accepted = 0
  app.server.on('connection', () => {
    accepted += 1
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
})

afterEach(async () => {
  manual[Symbol.dispose]()
  app.server.closeAllConnections()
  await app.close()
})

/** Opens a connection; returns what it received and whether it is open. */
function open(bytes: string) {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  const state = { socket, received: '', is_open: true }
  socket.setEncoding('latin1').on('data', (text: string) => {
    state.received += text
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    state.is_open = false
  })
  socket.write(bytes)
  return state
}

const waitUntil = (isDone: () => boolean) =>
  eventually(
    async () => isDone(),
    (done) => done === true,
  )

test('a verified signature protects a connection from half-sent requests; a wrong one does not', async () => {
  const wrong = open(requestText(PING, { header_lines: [`x-data-hash: ${'a'.repeat(128)}`] }))
  await waitUntil(() => wrong.received.includes('3002'))
  const verified = open(requestText(PING))
  await waitUntil(() => verified.received.includes('pong'))
  await manual.advance(HTTP_LIMITS.unauthenticated_grace_ms)
  const most = HTTP_LIMITS.network_unauthenticated_connections_max
  const half_sent = Array.from({ length: most }, () => open('POST / HTTP/1.1\r\n'))
  await waitUntil(() => accepted === most + 2)
  await waitUntil(() => !wrong.is_open)
  // The connection with the wrong signature counted as unauthenticated: it was the oldest, so it was closed.
  expect(half_sent.filter(({ is_open }) => !is_open)).toEqual([])
  await manual.advance(HTTP_LIMITS.unauthenticated_grace_ms)
  // One more closes the oldest half-sent one, although the verified connection is older.
  half_sent.push(open('POST / HTTP/1.1\r\n'))
  await waitUntil(() => half_sent[0]?.is_open === false)
  verified.received = ''
  verified.socket.write(requestText(PING))
  await waitUntil(() => verified.received.includes('pong'))
})

// F2
test.each(['upload', 'download'] as const)(
  'a link for one %s protects a connection until it expires',
  async (kind) => {
    const expired = open(transferText(kind, -1))
    await waitUntil(() => expired.received.includes('"code":'))
    const valid = open(transferText(kind, MINUTE_MS))
    await waitUntil(() => valid.received.includes('"code":'))
    await manual.advance(HTTP_LIMITS.unauthenticated_grace_ms)
    const most = HTTP_LIMITS.network_unauthenticated_connections_max
    const half_sent = Array.from({ length: most }, () => open('POST / HTTP/1.1\r\n'))
    await waitUntil(() => accepted === most + 2)
    await waitUntil(() => !expired.is_open)
    expect(valid.is_open).toBe(true)
    expect(half_sent.filter(({ is_open }) => !is_open)).toEqual([])
  },
)

const MINUTE_MS = 60_000

/** A request with a link that is valid for some time. The fixture has no attachments service, so it is refused. */
function transferText(kind: 'upload' | 'download', valid_ms: number): string {
  const sealed = sealLink(keys.link, kind, {
    merchant_id: 'a',
    environment: 'test',
    attachment_id: 'attachment-1',
    mime_type: 'text/plain',
    size_bytes: 1,
    expires_at: new Date(now().getTime() + valid_ms),
  })
  const [verb, path, rest] =
    kind === 'upload'
      ? ['PUT', UPLOAD_PATH, 'content-type: text/plain\r\ncontent-length: 1\r\n\r\nx']
      : ['GET', DOWNLOAD_PATH, '\r\n']
  return `${verb} ${path}${sealed} HTTP/1.1\r\nhost: a\r\n${rest}`
}
