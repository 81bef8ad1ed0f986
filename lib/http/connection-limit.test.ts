import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { parseIpRanges } from '#lib/http/address-policy.ts'
import { listen } from '#lib/http/network.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { createConnectionLimit, internalLimits, peerOf } from './connection-limit.ts'

const LIMITS = {
  connections_max: 12,
  network_connections_max: 8,
  unauthenticated_connections_max: 6,
  network_unauthenticated_connections_max: 4,
  unauthenticated_grace_ms: 1_000,
  first_bytes_ms: 10_000,
  caller_connections_max: 3,
}

let manual: InstalledClock
const closing: (() => unknown)[] = []
beforeEach(() => {
  manual = installManualClock()
  closing.push(() => manual[Symbol.dispose]())
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A connection of a client. */
interface Client {
  readonly socket: Socket
  /** Sends a request that counts as authenticated; whether it was answered. */
  request(caller?: string): Promise<boolean>
  isOpen(): boolean
}

/** Starts a server that authenticates every complete request; returns a function that opens a half-sent connection. */
async function startServer(trusted: readonly string[] = []) {
  const limit = createConnectionLimit('test', LIMITS, parseIpRanges(trusted))
  const server = createServer((request, response) => {
    const { 'x-caller': caller } = request.headers
    limit.markAuthenticated(peerOf(request.socket), caller?.toString())
    response.end()
  })
  let accepted = 0
  limit.attach(server)
  server.on('connection', () => {
    accepted += 1
  })
  const { host_and_port } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  closing.push(() => server.close())
  const port = Number(host_and_port.split(':')[1])
  return async (from = '127.0.0.1'): Promise<Client> => {
    const before = accepted
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    closing.push(() => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n')
    await eventually(
      async () => accepted,
      (count = 0) => count > before,
    )
    return {
      socket,
      async request(caller) {
        if (socket.destroyed) return false
        const answered = once(socket, 'data').then(() => true)
        const closed = once(socket, 'close').then(() => false)
        socket.write(caller === undefined ? '\r\n' : `x-caller: ${caller}\r\n\r\n`)
        // When the server has just closed the connection, the write fails, and `once` throws that.
        return await Promise.race([answered, closed]).catch(() => false)
      },
      isOpen: () => !socket.destroyed && !socket.readableEnded,
    }
  }
}

const open = async (start: (from?: string) => Promise<Client>, count: number, from?: string) => {
  const clients: Client[] = []
  for (let index = 0; index < count; index += 1) clients.push(await start(from))
  return clients
}

const openOf = (clients: readonly Client[]) => clients.map((client) => client.isOpen())

const areOpen = (clients: readonly Client[], expected: readonly boolean[]) =>
  eventually(
    async () => openOf(clients),
    (seen) => JSON.stringify(seen) === JSON.stringify(expected),
  )

test('half-sent requests from two networks do not keep out a caller from a third', async () => {
  const start = await startServer()
  await open(start, 20, '127.0.0.2')
  await open(start, 20, '127.0.0.3')
  expect(await (await start('127.0.0.4')).request()).toBe(true)
  expect(await (await start('127.0.0.2')).request()).toBe(true)
})

test('a network that is full of half-sent requests still gets new connections, at the cost of its oldest', async () => {
  const start = await startServer()
  const clients = await open(start, 9)
  await areOpen(clients, [false, ...clients.slice(1).map(() => true)])
  expect(await clients.at(-1)?.request()).toBe(true)
})

test('a process that is full of half-sent requests still gets new connections, at the cost of its oldest', async () => {
  const start = await startServer()
  const clients = [...(await open(start, 6, '127.0.0.2')), ...(await open(start, 6, '127.0.0.3'))]
  expect(openOf(clients)).not.toContain(false)
  clients.push(await start('127.0.0.4'))
  await areOpen(clients, [false, ...clients.slice(1).map(() => true)])
  expect(await clients.at(-1)?.request()).toBe(true)
})

test('closes the oldest unauthenticated connections of a network beyond its share', async () => {
  const start = await startServer()
  const clients = await open(start, 6)
  expect(openOf(clients)).toEqual([true, true, true, true, true, true])
  await manual.advance(1_000)
  clients.push(await start())
  await areOpen(clients, [false, false, false, true, true, true, true])
})

test('closes the oldest unauthenticated connections of all networks beyond their share', async () => {
  const start = await startServer()
  const clients = [...(await open(start, 4, '127.0.0.2')), ...(await open(start, 2, '127.0.0.3'))]
  await manual.advance(1_000)
  clients.push(await start('127.0.0.4'))
  await areOpen(clients, [false, true, true, true, true, true, true])
})

test('gives a burst of new connections the time to send their requests', async () => {
  const start = await startServer()
  const clients = await open(start, 7)
  await manual.advance(999)
  for (const client of clients) expect(await client.request()).toBe(true)
})

test('authenticated connections count towards the limit of their network only', async () => {
  const start = await startServer()
  const clients = await open(start, 8)
  for (const client of clients) expect(await client.request()).toBe(true)
  await manual.advance(60_000)
  const others = await open(start, 4, '127.0.0.2')
  expect(openOf(clients)).not.toContain(false)
  expect(await others[0]?.request()).toBe(true)
})

test('refuses a network whose authenticated connections use its whole limit, until one closes', async () => {
  const start = await startServer()
  const clients = await open(start, 8)
  for (const client of clients) await client.request()
  expect(await (await start()).request()).toBe(false)
  clients[0]?.socket.destroy()
  await eventually(
    async () => (await start()).request(),
    (answered) => answered === true,
  )
})

test('does not limit a trusted proxy', async () => {
  const start = await startServer(['127.0.0.1'])
  const clients = await open(start, 11)
  await manual.advance(60_000)
  clients.push(await start())
  for (const client of clients) expect(await client.request()).toBe(true)
})

describe('a port for our own processes', () => {
  /** Serves without an answer, so that all connections stay without an authenticated request; counts what was accepted. */
  async function serveInternal(connections_max: number) {
    const server = createTcpServer()
    createConnectionLimit('test', internalLimits(connections_max)).attach(server)
    let accepted = 0
    server.on('connection', (socket) => {
      accepted += 1
      socket.on('error', () => {})
    })
    const { port, close } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
    closing.push(() => close(0))
    return async (first_bytes = ''): Promise<Socket> => {
      const before = accepted
      const socket = connect({ port, host: '127.0.0.1' })
      closing.push(() => socket.destroy())
      socket.on('error', () => socket.destroy()).resume()
      socket.write(first_bytes)
      await eventually(
        async () => accepted,
        (count = 0) => count > before,
      )
      return socket
    }
  }
  const isClosed = (socket: Socket) => async () => socket.destroyed || socket.readableEnded

  test('closes connections without first bytes after 5 s, within a second', async () => {
    const start = await serveInternal(10)
    const [silent, speaking] = [await start(), await start('x')]
    const young = manual.advance(1_000).then(() => start())
    await manual.advance(4_000)
    await manual.advance(1_000)
    await eventually(isClosed(silent), (is_closed) => is_closed === true)
    expect([await isClosed(speaking)(), await isClosed(await young)()]).toEqual([false, false])
  })

  test('that is full gives each new connection the place of the oldest', async () => {
    const start = await serveInternal(3)
    const sockets = [await start('x'), await start('x'), await start('x'), await start('x')]
    const [oldest, ...others] = sockets
    if (oldest) await eventually(isClosed(oldest), (is_closed) => is_closed === true)
    for (const socket of others) expect(await isClosed(socket)()).toBe(false)
  })
})

// O22
test('connections beyond the share of a caller make room for those of others', async () => {
  const start = await startServer()
  const greedy = await open(start, 5)
  for (const client of greedy) expect(await client.request('greedy')).toBe(true)
  // A network has 4 without an authenticated request: 2 of the caller count among them.
  await manual.advance(LIMITS.unauthenticated_grace_ms)
  const strangers = await open(start, 3)
  await eventually(
    async () => greedy.filter((client) => client.isOpen()).length,
    (count) => count === 4,
  )
  const [other] = await open(start, 1)
  expect(await other?.request('other')).toBe(true)
  expect(strangers.every((client) => client.isOpen())).toBe(true)
  // A closed connection gives its place back.
  greedy[0]?.socket.destroy()
  await eventually(
    async () => (await (await start()).request('greedy')) === true,
    (answered) => answered === true,
  )
})
