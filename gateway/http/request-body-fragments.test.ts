import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { referenceFiles } from '../openapi/reference-files.ts'
import { PING, portOf, type RequestHead, requestText, sendBytes } from './socket.fixture.ts'

let app: FastifyInstance

beforeAll(async () => {
  app = await createTestGateway({ files: referenceFiles() })
  await app.listen({ port: 0, host: '127.0.0.1' })
})

afterAll(() => app.close())

const FRAGMENTS = '1\r\n \r\n'.repeat(20_000)
const TOO_LONG = `${(1_100_000).toString(16)}\r\n${' '.repeat(1_100_000)}\r\n`

/** A request whose chunked body does not end. */
const unendingRequest = (head: RequestHead = {}, begin = ''): string =>
  requestText(PING, { header_lines: ['transfer-encoding: chunked'], ...head, body_on_wire: begin })

const cases: [string, string, number | undefined][] = [
  ['nothing else', unendingRequest(), 1003],
  ['a wrong type', unendingRequest({ content_type: 'text/plain' }), 1006],
  ['no such path', unendingRequest({ target: '/nowhere' }), 1001],
  ['a path that cannot be decoded', unendingRequest({ target: '/%zz' }), 1001],
  ['another verb', unendingRequest({ verb: 'PUT' }), 1007],
  ['more than 1 MiB', unendingRequest({}, TOO_LONG), 1003],
  ['the reference', unendingRequest({ verb: 'GET', target: '/openapi.json' }), undefined],
]

test.each(cases)(
  'answers and closes when a request has too many fragments: %s',
  async (_what, head, code) => {
    const { responses, closed_by_gateway } = await sendBytes(app, head + FRAGMENTS)
    expect(responses.map(({ body }) => JSON.parse(body).error?.code)).toEqual([code])
    expect(closed_by_gateway).toBe(true)
  },
)

test.each(cases.slice(1))('closes when the fragments follow the response: %s', async (_what, head, code) => {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  socket.on('error', () => socket.destroy())
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  socket.write(head)
  await once(socket, 'data')
  const ended = once(socket, 'close')
  socket.write(FRAGMENTS)
  await ended
  expect(received).toContain(code === undefined ? '200 OK' : `"code":${code}`)
})

test('answers earlier requests before it closes', async () => {
  const { responses, closed_by_gateway } = await sendBytes(
    app,
    requestText(PING) + requestText('{') + unendingRequest({ content_type: 'text/plain' }) + FRAGMENTS,
  )
  expect(responses.map(({ body }) => JSON.parse(body).error?.code)).toEqual([undefined, 1005, 1006])
  expect(closed_by_gateway).toBe(true)
})

test('drains a refused body of normal fragments and finds the next request', async () => {
  const chunks = `1f4\r\n${' '.repeat(500)}\r\n`.repeat(3_000)
  const long = unendingRequest({}, `${chunks}0\r\n\r\n`)
  const wrong = unendingRequest({ content_type: 'text/plain' }, `${chunks}0\r\n\r\n`)
  const { responses } = await sendBytes(app, long + wrong + requestText(PING), 3)
  expect(responses.map(({ body }) => JSON.parse(body).error?.code)).toEqual([1003, 1006, undefined])
})

test.each([
  ['too long a body', { header_lines: ['connection: close', 'content-length: 3145728'] }, 1003],
  [
    'a wrong type',
    { content_type: 'text/plain', header_lines: ['connection: close', 'content-length: 3145728'] },
    1006,
  ],
])(
  'a client that sends all of %s before reading gets the response',
  async (_what, head: RequestHead, code) => {
    // Stopped, because sending can take longer than the lingering close on a slow machine.
    using _ = installManualClock()
    const socket = connect({ port: portOf(app), host: '127.0.0.1' })
    await once(socket, 'connect')
    const failed: unknown[] = []
    socket.on('error', (error) => failed.push(error))
    socket.write(requestText(PING, { ...head, body_on_wire: '' }))
    for (let chunk = 0; chunk < 48 && failed.length === 0; chunk += 1) {
      if (!socket.write(Buffer.alloc(65_536, 32))) await once(socket, 'drain')
      await new Promise((resolve) => setImmediate(resolve))
    }
    let received = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
    })
    if (!socket.closed) await once(socket, 'close')
    expect(failed).toEqual([])
    expect(received).toContain(`"code":${code}`)
  },
)
