import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { log } from '#lib/telemetry/log.ts'
import { makeAuthority } from '../../test/support/certificates.ts'
import { eventually } from '../../test/support/eventually.ts'
import { fillPort } from '../../test/support/fill-port.ts'
import { describeWith } from '../../test/support/needs.ts'
import {
  createInternalServer,
  createStreamClient,
  type StreamClient,
  type StreamHandler,
} from './internal-link.ts'
import { type Listening, listen } from './network.ts'
import { openTls, type Tls } from './tls.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function serve(handle: StreamHandler, tls?: Tls): Promise<Listening> {
  const listening = await listen(createInternalServer(tls, handle), {
    host: '127.0.0.1',
    port: 0,
    variable: 'none',
  })
  ends.push(() => listening.close(0))
  return listening
}

function clientOf({ host_and_port }: Listening, scheme = 'http', tls?: Tls): StreamClient {
  const client = createStreamClient(`${scheme}://${host_and_port}`, tls)
  ends.push(client.close)
  return client
}

async function* parts(count: number, part = Buffer.alloc(100_000, 'x')): AsyncGenerator<Uint8Array> {
  for (let number = 0; number < count; number += 1) yield part
}

async function lengthOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0
  for await (const chunk of body) length += chunk.length
  return length
}

const echo: StreamHandler = async ({ body = parts(0) }) => ({ status: 200, headers: {}, body })
const { signal } = new AbortController()

test.each([
  ['nothing', ''],
  ['half a request', 'PUT /a HTTP/1.1\r\nHost: a\r\n'],
])(
  'a port that is full of connections with %s takes new streams, and keeps the connections with a valid link',
  async (_name, first_bytes) => {
    const connections_max = 4
    const handle: StreamHandler = async ({ path }) => ({
      status: path === '/valid' ? 200 : 404,
      headers: {},
      body: parts(0),
    })
    const address = { host: '127.0.0.1', port: 0, variable: 'none' }
    const full = await listen(createInternalServer(undefined, handle, connections_max), address)
    const agents = Array.from({ length: 3 }, () => new Agent({ keepAlive: true }))
    const [link, stranger, other] = agents
    ends.push(
      () => full.close(0),
      async () => agents.forEach((agent) => void agent.destroy()),
    )
    const open = async (agent: Agent | undefined, path: string): Promise<Socket> => {
      const sent = request(`http://${full.host_and_port}${path}`, { agent: agent ?? false }).end()
      const [response] = await once(sent, 'response')
      const { socket } = response
      await once(response.resume(), 'end')
      return socket
    }
    const [kept, closed] = [await open(link, '/valid'), await open(stranger, '/forged')]
    const release = await fillPort(full.port, connections_max, first_bytes)
    ends.push(async () => release())
    expect([kept.destroyed, closed.destroyed]).toEqual([false, true])
    expect(await open(link, '/valid')).toBe(kept)
    await open(other, '/valid')
  },
)

describe('a stream between processes', () => {
  test('passes bytes in both directions without gathering them', async () => {
    const client = clientOf(await serve(echo))
    const { status, body } = await client.send({ method: 'PUT', path: '/a', body: parts(50), signal })
    expect(status).toBe(200)
    expect(await lengthOf(body)).toBe(5_000_000)
  })

  test('gets a response that comes before its body was read, and stops sending', async () => {
    let sent = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent += 1
        yield Buffer.alloc(100_000)
      }
    }
    const refusing: StreamHandler = async () => ({
      status: 409,
      headers: {},
      body: parts(1, Buffer.from('refused')),
    })
    const client = clientOf(await serve(refusing))
    const { status, body } = await client.send({ method: 'PUT', path: '/a', body: endless(), signal })
    expect({ status, length: await lengthOf(body) }).toEqual({ status: 409, length: 7 })
    const stopped_at = sent
    await client.send({ method: 'GET', path: '/a', signal })
    expect(sent - stopped_at).toBeLessThan(100)
  })

  test('is unavailable when there is no server, and when its own body breaks off', async () => {
    const listening = await serve(echo)
    await listening.close(0)
    const get = { method: 'GET', path: '/a', signal } as const
    await expect(clientOf(listening).send(get)).rejects.toMatchObject({ name: 'Unavailable' })
    const client = clientOf(
      await serve(async ({ body = parts(0) }) => ({
        status: await lengthOf(body),
        headers: {},
        body: parts(0),
      })),
    )
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a')
      throw new RangeError('broke')
    }
    await expect(client.send({ method: 'PUT', path: '/a', body: broken(), signal })).rejects.toMatchObject({
      name: 'Unavailable',
      cause: { message: 'broke' },
    })
  })

  test('shows a response that ends early as a failure, and its abort to the server', async () => {
    let is_open = false
    const listening = await serve(async ({ path, signal: end }) => ({
      status: 200,
      headers: { 'content-length': '1000' },
      body: (async function* () {
        yield Buffer.from('a')
        if (path === '/cut') throw new RangeError('broke')
        is_open = true
        await once(end, 'abort')
        is_open = false
      })(),
    }))
    const client = clientOf(listening)
    const read = async () => lengthOf((await client.send({ method: 'GET', path: '/cut', signal })).body)
    await expect(read()).rejects.toThrow()
    const abort = new AbortController()
    const { body } = await client.send({ method: 'GET', path: '/open', signal: abort.signal })
    abort.abort()
    await expect(lengthOf(body)).rejects.toThrow()
    await eventually(
      async () => is_open,
      (open) => open === false,
    )
  })
})

describeWith('openssl')('a stream over TLS', () => {
  test('needs a certificate of the same authority on both sides', async () => {
    const [trusted, foreign] = [await makeAuthority(), await makeAuthority()]
    ends.push(trusted.remove, foreign.remove)
    const tlsOf = async (authority: typeof trusted, name: string): Promise<Tls | undefined> => {
      const tls = await openTls({ ...(await authority.issue(name)), ca: authority.ca }, log, 60_000)
      ends.push(async () => tls?.close())
      return tls
    }
    const listening = await serve(echo, await tlsOf(trusted, 'attachments'))
    const put = () => ({ method: 'PUT', path: '/a', body: parts(2), signal }) as const
    const { body } = await clientOf(listening, 'https', await tlsOf(trusted, 'gateway')).send(put())
    expect(await lengthOf(body)).toBe(200_000)
    const stranger = clientOf(listening, 'https', await tlsOf(foreign, 'gateway'))
    await expect(stranger.send(put())).rejects.toMatchObject({ name: 'Unavailable' })
    await expect(clientOf(listening, 'http').send(put())).rejects.toMatchObject({ name: 'Unavailable' })
  })
})
