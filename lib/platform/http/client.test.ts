import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { type Listening, listen } from '#lib/platform/process/listen.ts'
import { useClock } from '#lib/platform/time.ts'
import { type HostileServer, pour, startHostileServer } from '../../../test/support/hostile-server.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { allowAnyAddress, allowPublicAddresses } from './address-policy.ts'
import { createHttpClient, type HttpClient, type HttpClientOptions } from './client.ts'
import { HttpFailure, UnresolvedNameError } from './http-failure.ts'
import type { HttpRequest } from './send-request.ts'

const TIMEOUT_MS = 20_000
const closers: (() => Promise<void>)[] = []
const restores: (() => void)[] = []
afterEach(async () => {
  for (const restore of restores.splice(0)) restore()
  await Promise.all(closers.splice(0).map((close) => close()))
})

/** Lets the time of requests stand still, so that a test can let it pass when they have come as far as they can. */
function stopClock(): ManualClock {
  const clock = createManualClock()
  restores.push(useClock(clock))
  return clock
}

function client(options: Partial<HttpClientOptions> = {}): HttpClient {
  const made = createHttpClient({ allow: allowAnyAddress, ...options })
  closers.push(() => made.close())
  return made
}

async function serve(server: Server): Promise<Listening> {
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
  closers.push(() => listening.close(0))
  return listening
}

async function hostile(speak: (socket: Socket) => void): Promise<HostileServer> {
  const server = await startHostileServer(speak)
  closers.push(() => server.close(0))
  return server
}

async function polite(answer: RequestListener): Promise<string> {
  const { authority } = await serve(createHttp(answer))
  return `http://${authority}/`
}

const post = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url,
  body: Buffer.from('{"a":1}'),
  timeout_ms: TIMEOUT_MS,
  ...more,
})

async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  )
  if (error instanceof HttpFailure) return `${error.kind} ${error.reason}`
  throw error
}

const OK = 'HTTP/1.1 200 OK\r\n'

describe('a good server', () => {
  test('gets the request as it is, and its answer comes back', async () => {
    const url = await polite(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      response.writeHead(201, { 'X-Mixed': 'a', 'set-cookie': ['b', 'c'] })
      response.end(
        JSON.stringify({ method: request.method, path: request.url, headers: request.headers, body }),
      )
    })
    const sent = {
      ...post(`${url}p%20q?x=1#f`),
      headers: { 'content-type': 'application/json', 'X-Own': 'y' },
    }
    const answer = await client().request(sent)
    expect(answer).toMatchObject({ status: 201, truncated: false })
    expect(answer.headers).toMatchObject({ 'x-mixed': 'a', 'set-cookie': 'b, c' })
    expect(JSON.parse(`${Buffer.from(answer.body)}`)).toMatchObject({
      method: 'POST',
      path: '/p%20q?x=1',
      headers: { 'x-own': 'y', 'content-length': '7', 'accept-encoding': 'identity' },
      body: '{"a":1}',
    })
  })

  test('is used again over one connection, and never by more than are allowed', async () => {
    const sockets = new Set<unknown>()
    const url = await polite((request, response) => {
      sockets.add(request.socket)
      response.end()
    })
    const http = client({ connections_per_host: 2 })
    await Promise.all(Array.from({ length: 20 }, () => http.request(post(url))))
    expect(sockets.size).toBeLessThanOrEqual(2)
  })

  test('with keep_alive_ms 0 gets a connection for each request', async () => {
    const sockets = new Set<unknown>()
    const url = await polite((request, response) => {
      sockets.add(request.socket)
      response.end()
    })
    const http = client({ keep_alive_ms: 0 })
    for (let n = 0; n < 3; n++) await http.request(post(url))
    expect(sockets.size).toBe(3)
  })

  test.each([301, 302, 303, 304, 307, 308])('that answers %d is not followed', async (status) => {
    let requests = 0
    const url = await polite((_request, response) => {
      requests += 1
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect((await client().request(post(url))).status).toBe(status)
    expect(requests).toBe(1)
  })

  test('is not reached through a proxy of the environment', async () => {
    const before = { ...process.env }
    Object.assign(process.env, { http_proxy: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' })
    try {
      const url = await polite((_request, response) => response.end('direct'))
      expect((await client().request(post(url))).status).toBe(200)
    } finally {
      process.env = before
    }
  })

  test('may send what claims to be compressed: it is not opened', async () => {
    const url = await polite((_request, response) => {
      response.setHeader('content-encoding', 'gzip')
      response.end('no gzip at all')
    })
    expect(`${Buffer.from((await client().request(post(url))).body)}`).toBe('no gzip at all')
  })
})

describe('nothing was sent', () => {
  test('when nobody listens', async () => {
    const { authority, close } = await serve(createServer())
    await close(0)
    expect(await failure(client().request(post(`http://${authority}/`)))).toBe('not_sent refused')
    const { port } = new URL(`http://${authority}`)
    expect(await failure(client().request(post(`http://localhost:${port}/`)))).toBe('not_sent refused')
  })

  test('when the name does not resolve', async () => {
    const http = client({ resolve: () => Promise.reject(new UnresolvedNameError('nowhere')) })
    expect(await failure(http.request(post('http://nowhere.example/')))).toBe('not_sent dns')
  })

  test('when the name server does not answer in time', async () => {
    const clock = stopClock()
    const http = client({ resolve: () => new Promise(() => {}) })
    const answer = failure(http.request(post('http://slow.example/')))
    await clock.advance(TIMEOUT_MS)
    expect(await answer).toBe('not_sent timeout_connect')
  })

  test('when all connections are busy for the whole time', async () => {
    const clock = stopClock()
    const { url, requests, read } = await hostile(() => {})
    const http = client({ connections_per_host: 2 })
    const answers = Array.from({ length: 5 }, (_, n) =>
      failure(http.request(post(url, { timeout_ms: n < 2 ? 400 : 100 }))),
    )
    await read(2)
    await clock.advance(400)
    expect((await Promise.all(answers)).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'not_sent timeout_connect'),
      ...Array.from({ length: 2 }, () => 'unknown timeout'),
    ])
    await http.close()
    expect(requests()).toBe(2)
  })

  test('when too many are in flight', async () => {
    const clock = stopClock()
    const { url, read } = await hostile(() => {})
    const http = client({ in_flight_max: 1 })
    const first = failure(http.request(post(url)))
    expect(await failure(http.request(post(url)))).toBe('not_sent busy')
    await read(1)
    await clock.advance(TIMEOUT_MS)
    expect(await first).toBe('unknown timeout')
  })

  test('when the certificate is not trusted, or it is not TLS at all', async () => {
    const { url } = await hostile((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await failure(client().request(post(url.replace('http:', 'https:'))))).toBe('not_sent tls')
  })

  test.each([
    '',
    'x',
    'ftp://127.0.0.1/',
    'http://user:x@127.0.0.1/',
    'file:///etc/passwd',
    'http://127.0.0.1:99999/',
  ])('to %j', async (url) => {
    expect(await failure(client().request(post(url)))).toBe('not_sent bad_request')
  })

  test.each([{ 'a b': 'x' }, { a: 'x\r\ny: z' }, { a: 'x\0' }])('with the headers %j', async (headers) => {
    const { url, requests } = await hostile(() => {})
    expect(await failure(client().request(post(url, { headers })))).toBe('not_sent bad_request')
    expect(requests()).toBe(0)
  })

  test('when it is given up before it began', async () => {
    const { url } = await hostile(() => {})
    const given_up = failure(client().request(post(url, { signal: AbortSignal.abort() })))
    expect(await given_up).toBe('not_sent aborted')
  })
})

describe('the rule for addresses', () => {
  test.each([
    'http://127.0.0.1:1/',
    'http://[::1]:1/',
    'http://2130706433:1/',
    'http://localhost:1/',
    'http://[::ffff:7f00:1]:1/',
  ])('stops %s before a connection is made', async (url) => {
    expect(await failure(client({ allow: allowPublicAddresses }).request(post(url)))).toBe(
      'not_sent refused_address',
    )
  })

  test('refuses a name when any of its addresses is bad, and asks at every connection', async () => {
    const url = await polite((_request, response) => response.end())
    const { port } = new URL(url)
    let asked = 0
    const http = client({
      allow: (address) => address === '127.0.0.1',
      keep_alive_ms: 0,
      resolve: async () => {
        asked += 1
        const good = { address: '127.0.0.1', family: 4 } as const
        return asked === 1 ? [good] : [good, { address: '10.0.0.1', family: 4 }]
      },
    })
    expect((await http.request(post(`http://rebinds.example:${port}/`))).status).toBe(200)
    expect(await failure(http.request(post(`http://rebinds.example:${port}/`)))).toBe(
      'not_sent refused_address',
    )
  })
})

describe('the fate is unknown', () => {
  test.each<[string, (socket: Socket) => void, string]>([
    ['resets after the request was read', (socket) => void socket.resetAndDestroy(), 'reset'],
    ['closes without an answer', (socket) => void socket.end(), 'reset'],
    ['closes within the header', (socket) => void socket.end(`${OK}x: `), 'reset'],
    ['sends no HTTP', (socket) => void socket.end('SSH-2.0-x\r\n'), 'bad_response'],
    ['sends huge headers', (socket) => pour(socket, `${OK}x: ${'y'.repeat(65_536)}`), 'too_large'],
    ['sends headers without end', (socket) => pour(socket, 'x: y\r\n'.repeat(1000), OK), 'too_large'],
    [
      'sends 103 without end',
      (socket) => pour(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20)),
      'bad_response',
    ],
    [
      'sends 100 without end',
      (socket) => pour(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)),
      'bad_response',
    ],
    [
      'switches protocols',
      (socket) => void socket.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      'bad_response',
    ],
    ['tears its body', (socket) => void socket.end(`${OK}content-length: 99\r\n\r\nx`), 'reset'],
    [
      'sends chunks without end',
      (socket) => pour(socket, `3e8\r\n${'a'.repeat(1000)}\r\n`, `${OK}transfer-encoding: chunked\r\n\r\n`),
      'too_large',
    ],
    [
      'sends a bad chunk',
      (socket) => void socket.write(`${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`),
      'bad_response',
    ],
    [
      'sends two lengths',
      (socket) => void socket.write(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
      'bad_response',
    ],
  ])('of a server that %s', async (_name, speak, reason) => {
    const { url, requests } = await hostile(speak)
    expect(await failure(client().request(post(url)))).toBe(`unknown ${reason}`)
    expect(requests()).toBe(1)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['never answers', () => {}],
    ['stops within the header', (socket) => void socket.write(`${OK}x: `)],
    ['drips its body', (socket) => void socket.write(`${OK}content-length: 99\r\n\r\nx`)],
  ])('of a server that %s for the whole time', async (_name, speak) => {
    const clock = stopClock()
    const { url, requests, read } = await hostile(speak)
    const answer = failure(client().request(post(url)))
    await read(1)
    await clock.advance(TIMEOUT_MS)
    expect(await answer).toBe('unknown timeout')
    expect(requests()).toBe(1)
  })

  test('when it is given up after it was sent', async () => {
    const given_up = new AbortController()
    const { url } = await hostile(() => given_up.abort())
    expect(await failure(client().request(post(url, { signal: given_up.signal })))).toBe('unknown aborted')
  })

  test.each(['POST', 'GET'] as const)(
    'of a %s on a kept connection that breaks, which is not sent again',
    async (method) => {
      let seen = 0
      const { url, requests } = await hostile((socket) => {
        seen += 1
        if (seen === 1) socket.write(`${OK}content-length: 0\r\n\r\n`)
        else socket.resetAndDestroy()
      })
      const http = client()
      await http.request(post(url))
      const { body: _, ...bare } = post(url, { method })
      expect(await failure(http.request(bare))).toBe('unknown reset')
      expect(requests()).toBe(2)
    },
  )
})

describe('when the status is the answer (body_grace_ms)', () => {
  const grace = { response_max_bytes: 100, body_grace_ms: 5_000 }

  test.each<[string, (socket: Socket) => void, number]>([
    ['torn', (socket) => void socket.end(`${OK}content-length: 99\r\n\r\nx`), 1],
    ['endless', (socket) => pour(socket, 'x'.repeat(1000), `${OK}\r\n`), 100],
    [
      'larger than allowed',
      (socket) => void socket.write(`${OK}content-length: 101\r\n\r\n${'x'.repeat(101)}`),
      100,
    ],
  ])('a body that is %s is cut', async (_name, speak, length) => {
    const { url } = await hostile(speak)
    const answer = await client().request(post(url, grace))
    expect([answer.status, answer.body.length, answer.truncated]).toEqual([200, length, true])
  })

  test('a body of exactly the permitted size is whole', async () => {
    const { url } = await hostile(
      (socket) => void socket.write(`${OK}content-length: 100\r\n\r\n${'x'.repeat(100)}`),
    )
    expect(await client().request(post(url, grace))).toMatchObject({ status: 200, truncated: false })
  })

  test('a body that is dripping is cut when the grace ends', async () => {
    const { url } = await hostile((socket) => void socket.write(`${OK}content-length: 99\r\n\r\nx`))
    const answer = await client().request(post(url, { ...grace, body_grace_ms: 100 }))
    expect([answer.status, answer.body.length, answer.truncated]).toEqual([200, 1, true])
  })

  test('the time still bounds the header', async () => {
    const clock = stopClock()
    const { url, read } = await hostile((socket) => void socket.write(OK))
    const answer = failure(client().request(post(url, grace)))
    await read(1)
    await clock.advance(TIMEOUT_MS)
    expect(await answer).toBe('unknown timeout')
  })
})

test('closing ends what is under way after a moment, as unknown, and takes nothing more', async () => {
  const arrived = Promise.withResolvers<void>()
  const { url } = await hostile(() => arrived.resolve())
  const http = createHttpClient({ allow: allowAnyAddress })
  const under_way = failure(http.request(post(url)))
  await arrived.promise
  await http.close()
  expect(await under_way).toBe('unknown aborted')
  expect(await failure(http.request(post(url)))).toBe('not_sent aborted')
  await http.close()
})
