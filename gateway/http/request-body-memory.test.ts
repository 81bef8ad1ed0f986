import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { createLog } from '#lib/telemetry/log.ts'
import { collectGarbage } from '../../test/support/collect-garbage.ts'
import { eventually } from '../../test/support/eventually.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { createBodyMemoryBudget } from './request-body.ts'
import { BALANCE, PING, portOf, requestText, sendBytes } from './socket.fixture.ts'

const MIB = 1024 * 1024
const LONG_PING = PING.padEnd(256 * 1024)
const LONG_BALANCE = BALANCE.padEnd(MIB)
const sockets: Socket[] = []
let app: FastifyInstance

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app?.close()
})

/** Announces a body and sends all of it but the last byte. */
async function sendUnfinishedBody(): Promise<void> {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  sockets.push(socket)
  const head = requestText(PING, { header_lines: [`content-length: ${MIB}`], body_on_wire: '' })
  socket.write(head)
  if (!socket.write(Buffer.alloc(MIB - 1, 32))) await once(socket, 'drain')
}

const codeOf = async (text: string): Promise<unknown> =>
  JSON.parse((await sendBytes(app, text, 1)).responses[0]?.body ?? '{}').error?.code

test('limits the unfinished bodies of a network, but not ordinary requests or other networks', async () => {
  app = await createTestGateway({ trusted_proxies: ['127.0.0.1'] })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const accepted: Socket[] = []
  app.server.on('connection', (socket: Socket) => accepted.push(socket))
  const share = HTTP_LIMITS.network_body_memory_bytes / MIB
  for (let count = 0; count < share; count += 1) await sendUnfinishedBody()
  // A request that comes before all of it is read would take the memory of a body, which is then refused instead.
  await eventually(
    async () => accepted.every(({ bytesRead }) => bytesRead >= MIB) && accepted.length,
    (count) => count === share,
  )
  expect(await codeOf(requestText(LONG_PING))).toBe(2002)
  expect(await codeOf(requestText(PING))).toBeUndefined()
  expect(
    await codeOf(requestText(LONG_PING, { header_lines: ['x-forwarded-for: 198.51.100.7'] })),
  ).toBeUndefined()

  for (const socket of sockets.splice(0)) {
    socket.destroy()
    await once(socket, 'close')
  }
  // The gateway learns of the closed connections a moment later.
  await eventually(
    () => codeOf(requestText(LONG_PING)),
    (code) => code === undefined,
  )
})

/** Sends a whole request and does not wait for its response. */
function sendWithoutReading(text: string): void {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  sockets.push(socket)
  socket.write(text)
}

test('counts complete bodies of callers that are not authenticated yet', async () => {
  // A clock that does not move: on a slow machine the lookup would time out before the last body arrives.
  using _ = installManualClock(Date.now())
  const lookup = Promise.withResolvers<object>()
  const lines: Record<string, unknown>[] = []
  app = await createTestGateway({
    registryService: { getCredential: () => lookup.promise },
    log: createLog('gateway', { level: 'info', writer: { write: (line) => lines.push(JSON.parse(line)) } }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  for (let count = 0; count < 20; count += 1) sendWithoutReading(requestText(LONG_BALANCE))
  // A request whose body was refused has no application id in its log line.
  const refused = () => lines.filter((line) => line['code'] === 2002 && line['application_id'] === undefined)
  await eventually(
    async () => refused().length,
    (count) => count === 4,
  )
  lookup.resolve({})
  await eventually(
    async () => lines.length,
    (count) => count === 20,
  )
  expect(await codeOf(requestText(LONG_PING))).toBe(3003)
})

test('keeps no body bytes while its request waits for another service', async () => {
  const gate = Promise.withResolvers<object>()
  let waiting = 0
  app = await createTestGateway({
    balances: {
      getBalances() {
        waiting += 1
        return gate.promise
      },
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const chunks = `80000\r\n${LONG_BALANCE.slice(0, MIB / 2)}\r\n80000\r\n${LONG_BALANCE.slice(MIB / 2)}\r\n0\r\n\r\n`
  const chunked = requestText(LONG_BALANCE, {
    header_lines: ['transfer-encoding: chunked'],
    body_on_wire: chunks,
  })
  const before = process.memoryUsage().arrayBuffers
  for (const count of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
    sendWithoutReading(count % 2 === 0 ? chunked : requestText(LONG_BALANCE))
    await eventually(
      async () => waiting,
      (seen) => seen === count,
    )
  }
  await eventually(
    async () => {
      collectGarbage()
      return (process.memoryUsage().arrayBuffers - before) / MIB
    },
    (held) => held !== undefined && held < 2,
  )
  gate.resolve({})
})

test('refuses a body in too many tiny fragments, and accepts a short body in single bytes', async () => {
  app = await createTestGateway()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const fragmented = (count: number): string =>
    requestText(PING, {
      header_lines: ['transfer-encoding: chunked'],
      body_on_wire: '1\r\n \r\n'.repeat(count),
    })
  const { responses, closed_by_gateway } = await sendBytes(app, fragmented(20_000))
  expect(responses.map(({ body }) => JSON.parse(body).error)).toMatchObject([
    { code: 1003, details: { description: 'body' } },
  ])
  expect(closed_by_gateway).toBe(true)
  const letters = [...PING].map((letter) => `1\r\n${letter}\r\n`).join('')
  expect(
    await codeOf(
      requestText(PING, {
        header_lines: ['transfer-encoding: chunked'],
        body_on_wire: `${letters}0\r\n\r\n`,
      }),
    ),
  ).toBeUndefined()
})

test('limits the memory of the process too, and released memory can be reserved again', () => {
  const { short_body_bytes, network_body_memory_bytes, body_memory_bytes } = HTTP_LIMITS
  const budget = createBodyMemoryBudget()
  const reserve = (host: number, bytes: number) => {
    const reservation = budget.openReservation(() => `198.51.100.${host}`)
    return { is_reserved: reservation.reserve(bytes), release: reservation.release }
  }
  const long = network_body_memory_bytes + short_body_bytes
  const most = body_memory_bytes / network_body_memory_bytes
  const bodies = Array.from({ length: 20 }, (_, host) => reserve(host, long))
  expect(bodies.map(({ is_reserved }) => is_reserved)).toEqual(bodies.map((_, host) => host < most))
  expect(reserve(100, short_body_bytes).is_reserved).toBe(true)
  expect(reserve(100, short_body_bytes + 1).is_reserved).toBe(false)
  bodies[0]?.release()
  bodies[0]?.release()
  const last = reserve(100, long)
  expect(last.is_reserved).toBe(true)
  expect(reserve(101, short_body_bytes + 1).is_reserved).toBe(false)
  for (const { release } of [...bodies, last]) release()
})
