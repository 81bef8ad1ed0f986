import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { collectGarbage } from '../../test/support/collect-garbage.ts'
import { eventually } from '../../test/support/eventually.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { freshPair } from '../../test/support/sign-request.ts'
import { openTestStore } from '../../test/support/store.ts'
import { APPLICATION_ID, createTestGateway, keys, SECRET } from '../gateway.fixture.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { BALANCE, PING, portOf, requestText, sendBytes } from './socket.fixture.ts'

const MIB = 1024 * 1024
/** What follows the beginning of a body, but for its last byte. */
const UNFINISHED = Buffer.alloc(MIB - PING.length - 1, 32)
const LONG_PING = PING.padEnd(256 * 1024)
const LONG_BALANCE = BALANCE.padEnd(MIB)
const sockets: Socket[] = []
let app: FastifyInstance

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app?.close()
})

/** Announces a body and sends all of it but the last byte, from an address of this machine or behind a proxy. */
async function sendUnfinishedBody(localAddress = '127.0.0.1', ...lines: readonly string[]): Promise<Socket> {
  const socket = connect({ port: portOf(app), host: '127.0.0.1', localAddress })
  sockets.push(socket)
  socket.on('error', () => socket.destroy())
  const head = requestText(PING.padEnd(MIB), {
    header_lines: [`content-length: ${MIB}`, ...lines],
    body_on_wire: PING,
  })
  socket.write(head)
  if (!socket.write(UNFINISHED)) await once(socket, 'drain')
  return socket
}

/** Counts the connections whose bytes have all been read. */
function countRead(): () => Promise<number> {
  const accepted: Socket[] = []
  app.server.on('connection', (socket: Socket) => accepted.push(socket))
  return async () => accepted.filter(({ bytesRead, destroyed }) => destroyed || bytesRead >= MIB).length
}

const codeOf = async (text: string): Promise<unknown> =>
  JSON.parse((await sendBytes(app, text, 1)).responses[0]?.body ?? '{}').error?.code

test('the oldest unfinished body of a network goes first, and others of the network and elsewhere are served', async () => {
  app = await createTestGateway({ trusted_proxies: ['127.0.0.1'] })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const read = countRead()
  const share = HTTP_LIMITS.network_body_memory_bytes / MIB
  const unfinished: Socket[] = []
  for (let count = 0; count < share; count += 1) {
    unfinished.push(await sendUnfinishedBody())
    await eventually(read, (seen) => seen === count + 1)
  }
  expect(await codeOf(requestText(LONG_PING))).toBeUndefined()
  expect(await codeOf(requestText(PING))).toBeUndefined()
  expect(
    await codeOf(requestText(LONG_PING, { header_lines: ['x-forwarded-for: 198.51.100.7'] })),
  ).toBeUndefined()
  const [oldest, ...others] = unfinished
  oldest?.resume()
  await eventually(
    async () => oldest?.destroyed,
    (destroyed) => destroyed === true,
  )
  expect(others.filter(({ destroyed, readableLength }) => destroyed || readableLength > 0)).toEqual([])
})

test('210 unfinished bodies of callers without a credential keep no request of 256 KiB out', async () => {
  app = await createTestGateway()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const read = countRead()
  for (let count = 0; count < 210; count += 1) await sendUnfinishedBody(`127.0.1.${(count % 14) + 1}`)
  await eventually(read, (seen) => seen === 210)
  // From a network without a signature so far, and then from one that has sent some.
  for (let count = 0; count < 20; count += 1) expect(await codeOf(requestText(LONG_PING))).toBeUndefined()
})

test('strangers behind a proxy take no memory from a network with a valid signature', async () => {
  app = await createTestGateway({ trusted_proxies: ['127.0.0.1'] })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const read = countRead()
  const from = (address: string): string => `x-forwarded-for: ${address}`
  const merchant = '198.51.100.7'
  expect(await codeOf(requestText(PING, { header_lines: [from(merchant)] }))).toBeUndefined()
  await eventually(read, (seen) => seen === 1)
  const unfinished = await sendUnfinishedBody('127.0.0.1', from(merchant))
  await eventually(read, (seen) => seen === 2)
  for (let count = 0; count < 80; count += 1)
    await sendUnfinishedBody('127.0.0.1', from(`203.0.113.${count % 5}`))
  await eventually(read, (seen) => seen === 82)
  const answer = once(unfinished, 'data')
  unfinished.write(' ')
  expect(String((await answer)[0])).toContain('pong')
})

/** Sends a whole request and does not wait for its response. */
function sendWithoutReading(text: string): void {
  const socket = connect({ port: portOf(app), host: '127.0.0.1' })
  sockets.push(socket)
  socket.write(text)
}

test('drops the oldest complete bodies of callers that are not authenticated yet', async () => {
  // A clock that does not move: on a slow machine the lookup would time out before the last body arrives.
  using _ = installManualClock(Date.now())
  const lookup = Promise.withResolvers<void>()
  const lines: Record<string, unknown>[] = []
  const sealed = keys.credential.seal(new Secret(SECRET), ownerOfCredentialSecret(APPLICATION_ID))
  app = await createTestGateway({
    registryService: {
      async getCredential({ applicationId }) {
        await lookup.promise
        const credential = { applicationId, merchantId: '7001', apiVersion: ApiVersion.V1 }
        const state = { environment: Environment.TEST, status: CredentialStatus.ACTIVE }
        return {
          credential: { ...credential, ...state },
          secrets: [{ sealed }],
          merchant: { environments: [1] },
        }
      },
    },
    log: createLog('gateway', { level: 'info', writer: { write: (line) => lines.push(JSON.parse(line)) } }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const read = countRead()
  for (let count = 0; count < 20; count += 1) {
    sendWithoutReading(requestText(PING.padEnd(MIB)))
    await eventually(read, (seen) => seen === count + 1)
  }
  lookup.resolve()
  await eventually(
    async () => lines.length,
    (count) => count === 20,
  )
  expect(lines.filter((line) => line['code'] === 2002)).toHaveLength(4)
})

test('drops no body of an authenticated caller whose request waits for the store', async () => {
  using _ = installManualClock(Date.now())
  await using test_store = await openTestStore()
  const { store } = test_store
  const opened = Promise.withResolvers<void>()
  const lines: Record<string, unknown>[] = []
  app = await createTestGateway({
    store: {
      ...store,
      async collection<D extends object>(declaration: CollectionSpec) {
        const collection = await store.collection<D>(declaration)
        if (declaration.name !== 'nonces') return collection
        return {
          ...collection,
          async insert(document: D) {
            await opened.promise
            return collection.insert(document)
          },
        }
      },
    },
    log: createLog('gateway', { level: 'info', writer: { write: (line) => lines.push(JSON.parse(line)) } }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const read = countRead()
  const count = HTTP_LIMITS.network_body_memory_bytes / MIB
  for (let number = 0; number < count + 4; number += 1) {
    const { timestamp, nonce } = freshPair()
    const header_lines = [`x-data-timestamp: ${timestamp}`, `x-data-nonce: ${nonce}`]
    sendWithoutReading(requestText(PING.padEnd(MIB), { header_lines }))
    await eventually(read, (seen) => seen === number + 1)
  }
  await eventually(
    async () => lines.length,
    (seen) => seen === 4,
  )
  opened.resolve()
  await eventually(
    async () => lines.length,
    (seen) => seen === count + 4,
  )
  expect(lines.map((line) => line['code'])).toEqual([
    ...Array.from({ length: 4 }, () => 2002),
    ...Array.from({ length: count }, () => undefined),
  ])
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
