import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { createLog } from '#lib/platform/telemetry/log.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { BALANCE, PING, portOf, requestText, sendBytes } from '../http/socket.fixture.ts'
import { holdBody } from './body-memory-budget.ts'

const MIB = 1024 * 1024
const LONG_PING = PING.padEnd(256 * 1024)
const LONG_BALANCE = BALANCE.padEnd(MIB)
const sockets: Socket[] = []
let app: FastifyInstance

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app?.close()
})

/** A stranger that announces a body and sends all of it but the last byte. */
async function unfinished(): Promise<void> {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  sockets.push(socket)
  const head = requestText(PING, { header_lines: [`content-length: ${MIB}`], body_on_wire: '' })
  socket.write(head)
  if (!socket.write(Buffer.alloc(MIB - 1, 32))) await once(socket, 'drain')
}

const codeOf = async (text: string): Promise<unknown> =>
  JSON.parse((await sendBytes(app, text, 1)).responses[0]?.body ?? '{}').error?.code

test('unfinished bodies take the share of their address, and nothing of what ordinary requests need', async () => {
  app = await createTestGateway({ trusted_proxies: ['127.0.0.1'] })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const share = HTTP_LIMITS.network_body_memory_bytes / MIB
  for (let count = 0; count < share; count += 1) await unfinished()
  await eventually(
    () => codeOf(requestText(LONG_PING)),
    (code) => code === 2002,
  )
  expect(await codeOf(requestText(PING))).toBeUndefined()
  expect(
    await codeOf(requestText(LONG_PING, { header_lines: ['x-forwarded-for: 198.51.100.7'] })),
  ).toBeUndefined()

  for (const socket of sockets.splice(0)) {
    socket.destroy()
    await once(socket, 'close')
  }
  expect(await codeOf(requestText(LONG_PING))).toBeUndefined()
}, 20_000)

/** Sends a whole request whose answer nobody waits for. */
function begun(text: string): void {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  sockets.push(socket)
  socket.write(text)
}

test('complete bodies of callers who have not proved who they are take the same share', async () => {
  const lookup = Promise.withResolvers<object>()
  const lines: Record<string, unknown>[] = []
  app = await createTestGateway({
    directory: { getCredential: () => lookup.promise },
    log: createLog('gateway', { level: 'info', writer: { write: (line) => lines.push(JSON.parse(line)) } }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  for (let count = 0; count < 20; count += 1) begun(requestText(LONG_BALANCE))
  // A body that was not read has not named its application.
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
}, 30_000)

test('the bytes of a body are gone while its request waits for others', async () => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('no collector to call')
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
  const pieces = `80000\r\n${LONG_BALANCE.slice(0, MIB / 2)}\r\n80000\r\n${LONG_BALANCE.slice(MIB / 2)}\r\n0\r\n\r\n`
  const chunked = requestText(LONG_BALANCE, {
    header_lines: ['transfer-encoding: chunked'],
    body_on_wire: pieces,
  })
  const before = process.memoryUsage().arrayBuffers
  for (const count of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
    begun(count % 2 === 0 ? chunked : requestText(LONG_BALANCE))
    await eventually(
      async () => waiting,
      (seen) => seen === count,
    )
  }
  await eventually(
    async () => {
      collect()
      return (process.memoryUsage().arrayBuffers - before) / MIB
    },
    (held) => held !== undefined && held < 2,
  )
  gate.resolve({})
}, 30_000)

test('a body in crumbs is refused before it costs more than it weighs, and small pieces are taken', async () => {
  app = await createTestGateway()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const crumbs = (count: number): string =>
    requestText(PING, {
      header_lines: ['transfer-encoding: chunked'],
      body_on_wire: '1\r\n \r\n'.repeat(count),
    })
  const { responses: answers, closed_by_gateway: closed } = await sendBytes(app, crumbs(20_000))
  expect(answers.map(({ body }) => JSON.parse(body).error)).toMatchObject([
    { code: 1003, details: { description: 'body' } },
  ])
  expect(closed).toBe(true)
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

test('the process has a share too, and what is given back can be taken again', () => {
  const { short_body_bytes, network_body_memory_bytes, body_memory_bytes } = HTTP_LIMITS
  const takes = (at: number, bytes: number) => {
    const body = holdBody(() => `198.51.100.${at}`)
    return { taken: body.take(bytes), release: body.release }
  }
  const long = network_body_memory_bytes + short_body_bytes
  const most = body_memory_bytes / network_body_memory_bytes
  const bodies = Array.from({ length: 20 }, (_, at) => takes(at, long))
  expect(bodies.map(({ taken }) => taken)).toEqual(bodies.map((_, at) => at < most))
  expect(takes(100, short_body_bytes).taken).toBe(true)
  expect(takes(100, short_body_bytes + 1).taken).toBe(false)
  bodies[0]?.release()
  bodies[0]?.release()
  const last = takes(100, long)
  expect(last.taken).toBe(true)
  expect(takes(101, short_body_bytes + 1).taken).toBe(false)
  for (const { release } of [...bodies, last]) release()
})
