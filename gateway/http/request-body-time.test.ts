import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { useClock } from '#lib/base/time.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { PING, portOf, requestText } from './socket.fixture.ts'

let app: FastifyInstance
let manual: ManualClock
let restore: () => void
let timers = 0

beforeEach(async () => {
  app = await createTestGateway()
  await app.listen({ port: 0, host: '127.0.0.1' })
  // Node's own time-out for a whole request would refuse these requests too, some 25 s later.
  app.server.requestTimeout = 0
  manual = createManualClock()
  timers = 0
  restore = useClock({
    ...manual,
    after(delay_ms, action) {
      if (delay_ms === HTTP_LIMITS.short_body_timeout_ms) timers += 1
      return manual.after(delay_ms, action)
    },
  })
})

afterEach(async () => {
  restore()
  app.server.closeAllConnections()
  await app.close()
})

/** Sends the head of a request and a part of its body; returns what the gateway has sent so far, and a way to go on. */
async function sendPart(body: string, length: number) {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  let received = ''
  let is_closed = false
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
  })
  socket.on('error', () => socket.destroy())
  socket.on('end', () => {
    is_closed = true
  })
  const text = requestText(body)
  const sent_length = text.length - body.length + length
  const [[served]] = await Promise.all([
    once(app.server, 'connection') as Promise<[Socket]>,
    socket.write(text.slice(0, sent_length)),
  ])
  await eventually(
    async () => [timers, served.bytesRead],
    (seen) => seen?.[0] === 1 && seen[1] === sent_length,
  )
  return {
    received: () => received,
    isClosed: () => is_closed,
    sendRest: () => socket.write(text.slice(sent_length)),
  }
}

test.each([
  ['nothing', 0],
  ['half', PING.length / 2],
])('refuses a short body of which %s arrived after 5 seconds, and closes', async (_what, length) => {
  const sent = await sendPart(PING, Math.floor(length))
  await manual.advance(HTTP_LIMITS.short_body_timeout_ms - 1)
  expect(sent.received()).toBe('')
  await manual.advance(1)
  await eventually(
    async () => sent.received() !== '' && sent.isClosed(),
    (done) => done === true,
  )
  // Node's own time-out for a whole request, 30 seconds of the machine's clock later, would not name the body.
  expect(sent.received()).toMatch(/^HTTP\/1\.1 400 .*Connection: close.*"code":1003.*"description":"body"/is)
})

test('refuses a long body that is not complete after 30 seconds, and closes', async () => {
  const sent = await sendPart(PING.padEnd(65_536), 65_535)
  await manual.advance(HTTP_LIMITS.request_timeout_ms - 1)
  expect(sent.received()).toBe('')
  await manual.advance(1)
  await eventually(
    async () => sent.received() !== '' && sent.isClosed(),
    (done) => done === true,
  )
  expect(sent.received()).toMatch(/^HTTP\/1\.1 400 .*Connection: close.*"code":1003.*"description":"body"/is)
})

test.each([
  ['a short body that is complete in time', PING, PING.length - 1, HTTP_LIMITS.short_body_timeout_ms - 1],
  ['a long body that is half there', PING.padEnd(65_536), 32_768, 20_000],
])('accepts %s', async (_what, body, length, time_ms) => {
  const sent = await sendPart(body, length)
  await manual.advance(time_ms)
  sent.sendRest()
  await eventually(
    async () => sent.received(),
    (text = '') => text.includes('pong'),
  )
})

test('closes the connection of an answered request whose body is not complete after 30 seconds', async () => {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  const closed = once(socket, 'close')
  socket.on('error', () => socket.destroy())
  socket.write(requestText(PING, { content_type: 'text/plain', body_on_wire: '{' }))
  const [answer] = await once(socket.setEncoding('latin1'), 'data')
  expect(answer).toContain('"code":1006')
  await manual.advance(HTTP_LIMITS.request_timeout_ms - 1)
  socket.write('"')
  expect(socket.closed).toBe(false)
  await manual.advance(1)
  await closed
})
