import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { parseIpRanges } from '#lib/platform/http/ip-ranges.ts'
import { listen } from '#lib/platform/process/listen.ts'
import { eventually } from '../../test/support/eventually.ts'
import { limitConnectionsPerNetwork } from './connection-limit.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Starts a server; returns a function that opens a connection and tells whether a request on it is answered. */
async function startServer(trusted: readonly string[]) {
  const server = createServer((_request, response) => void response.end())
  limitConnectionsPerNetwork(server, parseIpRanges(trusted), 2)
  const { host_and_port } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  closing.push(() => server.close())
  return async (): Promise<{ readonly socket: Socket; readonly answered: boolean }> => {
    const socket = connect(Number(host_and_port.split(':')[1]), '127.0.0.1')
    closing.push(() => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    const ended = once(socket, 'close').then(() => false)
    return { socket, answered: await Promise.race([once(socket, 'data').then(() => true), ended]) }
  }
}

test('closes connections of a network beyond its limit, and accepts new ones after one has closed', async () => {
  const open = await startServer([])
  const [first] = [await open(), await open()]
  expect([first.answered, (await open()).answered]).toEqual([true, false])
  first.socket.destroy()
  await once(first.socket, 'close')
  // The server notices the close a moment later.
  await eventually(open, (last) => last?.answered === true)
})

test('does not limit a trusted proxy', async () => {
  const open = await startServer(['127.0.0.1'])
  for (let count = 0; count < 5; count += 1) expect((await open()).answered).toBe(true)
})
