import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { fillPort } from '../../../test/support/fill-port.ts'
import { holdTimers } from '../../../test/support/held-timers.ts'
import { createProviderCallbackServer, serveProviderCallbacks } from './provider-callback-server.ts'

const ADDRESS = { host: '127.0.0.1', port: 0, variable: 'none' }

let server: Listening
beforeAll(async () => {
  server = await serveProviderCallbacks(async () => 200, ADDRESS)
})
afterAll(() => server.close(0))

function post(agent: Agent, body: Buffer, to = server): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const url = `http://${to.host_and_port}/callbacks`
    const sent = request(
      url,
      { method: 'POST', agent, headers: { 'Content-Length': body.length } },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

test('refuses a body of over 64 KiB with 413 and serves the next request at once', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  await expect(post(agent, Buffer.alloc(64 * 1024))).resolves.toBe(200)
  await expect(post(agent, Buffer.alloc(64 * 1024 + 1))).resolves.toBe(413)
  await expect(post(agent, Buffer.alloc(200_000))).resolves.toBe(413)
  await expect(post(agent, Buffer.from('{}'))).resolves.toBe(200)
  agent.destroy()
})

test('serves providers while 1,100 other clients keep unfinished requests open', async () => {
  const port = Number(server.host_and_port.split(':').at(-1))
  const slow_clients: Socket[] = []
  for (let count = 0; count < 1_100; count += 1) {
    const slow_client = connect(port, '127.0.0.1')
    slow_client.on('error', () => {})
    slow_clients.push(slow_client)
    await once(slow_client, 'connect')
    slow_client.write('POST /callbacks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n')
  }
  const agent = new Agent()
  await expect(post(agent, Buffer.from('{}'))).resolves.toBe(200)
  for (const slow_client of slow_clients) slow_client.destroy()
  agent.destroy()
})

test.each([
  ['nothing', ''],
  ['half a head', 'POST /callbacks HTTP/1.1\r\nHost: a\r\n'],
  ['half a body', 'POST /callbacks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n'],
])(
  'a port that is full of connections with %s serves providers, and keeps the connections that were verified',
  async (_name, first_bytes) => {
    const connections_max = 4
    const receive = async ({ path }: { readonly path: string }) => (path === '/callbacks' ? 200 : 401)
    const full = await listen(createProviderCallbackServer(receive, connections_max), ADDRESS)
    const [provider, stranger, other] = Array.from({ length: 3 }, () => new Agent({ keepAlive: true }))
    const send = async (agent: Agent | undefined, path: string): Promise<Socket> => {
      const sent = request(`http://${full.host_and_port}${path}`, { method: 'POST', agent: agent ?? false })
      sent.end('{}')
      const [response] = await once(sent, 'response')
      const { socket } = response
      await once(response.resume(), 'end')
      return socket
    }
    const [kept, closed] = [await send(provider, '/callbacks'), await send(stranger, '/nowhere')]
    const release = await fillPort(full.port, connections_max, first_bytes)
    expect([kept.destroyed, closed.destroyed]).toEqual([false, true])
    expect(await send(provider, '/callbacks')).toBe(kept)
    await send(other, '/callbacks')
    release()
    for (const agent of [provider, stranger, other]) agent?.destroy()
    await full.close(0)
  },
)

test('refuses a head that is too large with 431', async () => {
  const url = `http://${server.host_and_port}/callbacks`
  const filler = 'x'.repeat(20_000)
  const status = await new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false, headers: { filler } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    sent.end()
  })
  expect(status).toBe(431)
})

test('disconnects a client that does not end its body in time', async () => {
  const timers = holdTimers(5_000)
  const restore = useClock(timers.clock)
  try {
    const port = Number(server.host_and_port.split(':').at(-1))
    const slow_client = connect(port, '127.0.0.1')
    slow_client.on('error', () => {})
    slow_client.write('POST /callbacks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n')
    const closed = once(slow_client, 'close')
    await eventually(
      async () => timers.count(),
      (count) => count === 1,
    )
    timers.elapse()
    await closed
  } finally {
    restore()
  }
})

test('a client that does not end its head is disconnected', async () => {
  const created = createProviderCallbackServer(async () => 200)
  expect([created.headersTimeout, created.keepAliveTimeout]).toEqual([10_000, 65_000])
  created.headersTimeout = 1
  const listening = await listen(created, ADDRESS)
  const slow_client = connect(listening.port, '127.0.0.1')
  slow_client.write('POST /callbacks HTTP/1.1\r\nHost: a\r\n')
  const [refusal] = await once(slow_client, 'data')
  expect(String(refusal)).toMatch(/^HTTP\/1.1 408 /)
  await once(slow_client, 'close')
  await listening.close(0)
})

test('a callback beyond the 1,024 in progress gets 503, and there is room again when they end', async () => {
  const store_answers = Promise.withResolvers<void>()
  let received = 0
  const receive = async (): Promise<200> => {
    received += 1
    await store_answers.promise
    return 200
  }
  const busy = await serveProviderCallbacks(receive, ADDRESS)
  const agent = new Agent()
  const statuses: (number | undefined)[] = []
  const send = async (): Promise<void> => void statuses.push(await post(agent, Buffer.from('{}'), busy))
  const sent = Array.from({ length: 1_025 }, send)
  try {
    await eventually(
      async () => received + statuses.length,
      (count) => count === sent.length,
    )
    expect([received, statuses]).toEqual([1_024, [503]])
    store_answers.resolve()
    await Promise.all(sent)
    await send()
    expect(statuses.slice(1)).toEqual(sent.map(() => 200))
  } finally {
    store_answers.resolve()
    await Promise.all(sent)
    agent.destroy()
    await busy.close(0)
  }
})
