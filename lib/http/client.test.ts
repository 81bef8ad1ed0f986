import { createServer, type Socket } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { pour } from '../../test/support/hostile-server.ts'
import { allowAnyAddress, allowPublicAddresses } from './address-policy.ts'
import { createHttpClient } from './client.ts'
import { createHttpFixture, failure, post } from './http.fixture.ts'
import { UnresolvedNameError } from './http-failure.ts'

const { client, serve, serveHttp, serveHostile, stopClock } = createHttpFixture()

const OK = 'HTTP/1.1 200 OK\r\n'

describe('a request', () => {
  test('arrives unchanged, and its response is returned', async () => {
    const url = await serveHttp(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      response.writeHead(201, { 'X-Mixed': 'a', 'set-cookie': ['b', 'c'] })
      response.end(
        JSON.stringify({ method: request.method, path: request.url, headers: request.headers, body }),
      )
    })
    const sent = {
      ...post(`${url}p%20q?x=1#f`),
      createHeaders: () => ({ 'content-type': 'application/json', 'X-Own': 'y' }),
    }
    const response = await client().request(sent)
    expect(response).toMatchObject({ status: 201, truncated: false })
    expect(response.headers).toMatchObject({ 'x-mixed': 'a', 'set-cookie': 'b, c' })
    expect(JSON.parse(`${Buffer.from(response.body)}`)).toMatchObject({
      method: 'POST',
      path: '/p%20q?x=1',
      headers: { 'x-own': 'y', 'content-length': '7', 'accept-encoding': 'identity' },
      body: '{"a":1}',
    })
  })

  test.each([301, 302, 303, 304, 307, 308])('does not follow a redirect with %d', async (status) => {
    let requests = 0
    const url = await serveHttp((_request, response) => {
      requests += 1
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect((await client().request(post(url))).status).toBe(status)
    expect(requests).toBe(1)
  })

  test('ignores proxy settings in the environment', async () => {
    const before = { ...process.env }
    Object.assign(process.env, { http_proxy: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' })
    try {
      const url = await serveHttp((_request, response) => response.end('direct'))
      expect((await client().request(post(url))).status).toBe(200)
    } finally {
      process.env = before
    }
  })

  test('does not decompress a response', async () => {
    const url = await serveHttp((_request, response) => {
      response.setHeader('content-encoding', 'gzip')
      response.end('not gzip')
    })
    expect(`${Buffer.from((await client().request(post(url))).body)}`).toBe('not gzip')
  })
})

describe('a request fails as not_sent', () => {
  test('when the port is closed', async () => {
    const { host_and_port, close } = await serve(createServer())
    await close(0)
    expect(await failure(client().request(post(`http://${host_and_port}/`)))).toBe('not_sent refused')
    const { port } = new URL(`http://${host_and_port}`)
    expect(await failure(client().request(post(`http://localhost:${port}/`)))).toBe('not_sent refused')
  })

  test('when the name does not resolve', async () => {
    const http = client({ resolve: () => Promise.reject(new UnresolvedNameError('nowhere')) })
    expect(await failure(http.request(post('http://nowhere.example/')))).toBe('not_sent dns')
  })

  test('when the name server does not answer in time', async () => {
    const clock = stopClock()
    const http = client({ resolve: () => new Promise(() => {}) })
    const failed = failure(http.request(post('http://slow.example/')))
    await clock.advance(HANG_LIMIT_MS)
    expect(await failed).toBe('not_sent timeout_connect')
  })

  test('when too many are in progress', async () => {
    const clock = stopClock()
    const { url, read } = await serveHostile(() => {})
    const http = client({ in_progress_max: 1 })
    const first = failure(http.request(post(url)))
    expect(await failure(http.request(post(url)))).toBe('not_sent busy')
    await read(1)
    await clock.advance(HANG_LIMIT_MS)
    expect(await first).toBe('unknown timeout')
  })

  test('when the server does not speak TLS', async () => {
    const { url } = await serveHostile((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await failure(client().request(post(url.replace('http:', 'https:'))))).toBe('not_sent tls')
  })

  test.each([
    '',
    'x',
    'ftp://127.0.0.1/',
    'http://user:x@127.0.0.1/',
    'file:///etc/passwd',
    'http://127.0.0.1:99999/',
  ])('when the URL is %j', async (url) => {
    expect(await failure(client().request(post(url)))).toBe('not_sent bad_request')
  })

  test.each([{ 'a b': 'x' }, { a: 'x\r\ny: z' }, { a: 'x\0' }])(
    'when its headers are %j',
    async (headers) => {
      const { url, requests } = await serveHostile(() => {})
      const request = post(url, { createHeaders: () => headers })
      expect(await failure(client().request(request))).toBe('not_sent bad_request')
      expect(requests()).toBe(0)
    },
  )

  test('when it is aborted before it begins', async () => {
    const { url } = await serveHostile(() => {})
    const aborted = failure(client().request(post(url, { signal: AbortSignal.abort() })))
    expect(await aborted).toBe('not_sent aborted')
  })
})

test('response_kept_bytes limits what is returned, not what is read', async () => {
  const { url } = await serveHostile(
    (socket) => void socket.write(`${OK}content-length: 1000\r\n\r\n${'x'.repeat(1000)}`),
  )
  const response = await client().request(post(url, { response_kept_bytes: 10 }))
  expect([response.body.length, response.truncated]).toEqual([10, false])
})

describe('the address policy', () => {
  test.each([
    'http://127.0.0.1:1/',
    'http://[::1]:1/',
    'http://2130706433:1/',
    'http://localhost:1/',
    'http://[::ffff:7f00:1]:1/',
  ])('refuses %s before a connection is made', async (url) => {
    expect(await failure(client({ allow: allowPublicAddresses }).request(post(url)))).toBe(
      'not_sent refused_address',
    )
  })

  test('refuses a host when any of its addresses is refused, and checks again for every connection', async () => {
    const url = await serveHttp((_request, response) => response.end())
    const { port } = new URL(url)
    let look_ups = 0
    const http = client({
      allow: (address) => address === '127.0.0.1',
      keep_alive_ms: 0,
      resolve: async () => {
        look_ups += 1
        const permitted = { address: '127.0.0.1', family: 4 } as const
        return look_ups === 1 ? [permitted] : [permitted, { address: '10.0.0.1', family: 4 }]
      },
    })
    expect((await http.request(post(`http://rebinds.example:${port}/`))).status).toBe(200)
    expect(await failure(http.request(post(`http://rebinds.example:${port}/`)))).toBe(
      'not_sent refused_address',
    )
  })
})

describe('a request fails as unknown', () => {
  test.each<[string, (socket: Socket) => void, string]>([
    ['resets after the request was read', (socket) => void socket.resetAndDestroy(), 'reset'],
    ['closes without a response', (socket) => void socket.end(), 'reset'],
    ['closes within the header', (socket) => void socket.end(`${OK}x: `), 'reset'],
    ['does not speak HTTP', (socket) => void socket.end('SSH-2.0-x\r\n'), 'bad_response'],
    ['sends huge headers', (socket) => pour(socket, `${OK}x: ${'y'.repeat(65_536)}`), 'too_large'],
    [
      'sends headers of 17 KiB',
      (socket) => void socket.write(`${OK}x: ${'y'.repeat(17_408)}\r\n\r\n`),
      'too_large',
    ],
    ['sends endless headers', (socket) => pour(socket, 'x: y\r\n'.repeat(1000), OK), 'too_large'],
    [
      'sends endless 103 responses',
      (socket) => pour(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20)),
      'bad_response',
    ],
    [
      'sends endless 100 responses',
      (socket) => pour(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)),
      'bad_response',
    ],
    [
      'switches protocols',
      (socket) => void socket.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      'bad_response',
    ],
    ['closes within its body', (socket) => void socket.end(`${OK}content-length: 99\r\n\r\nx`), 'reset'],
    [
      'sends endless chunks',
      (socket) => pour(socket, `3e8\r\n${'a'.repeat(1000)}\r\n`, `${OK}transfer-encoding: chunked\r\n\r\n`),
      'too_large',
    ],
    [
      'sends an invalid chunk',
      (socket) => void socket.write(`${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`),
      'bad_response',
    ],
    [
      'sends two content-length headers',
      (socket) => void socket.write(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
      'bad_response',
    ],
  ])('when the server %s', async (_name, speak, reason) => {
    const { url, requests } = await serveHostile(speak)
    expect(await failure(client().request(post(url)))).toBe(`unknown ${reason}`)
    expect(requests()).toBe(1)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['never answers', () => {}],
    ['stops within the header', (socket) => void socket.write(`${OK}x: `)],
    ['stops within its body', (socket) => void socket.write(`${OK}content-length: 99\r\n\r\nx`)],
  ])('at the timeout when the server %s', async (_name, speak) => {
    const clock = stopClock()
    const { url, requests, read } = await serveHostile(speak)
    const failed = failure(client().request(post(url)))
    await read(1)
    await clock.advance(HANG_LIMIT_MS)
    expect(await failed).toBe('unknown timeout')
    expect(requests()).toBe(1)
  })

  test('when it is aborted after it was sent', async () => {
    const aborted = new AbortController()
    const { url } = await serveHostile(() => aborted.abort())
    expect(await failure(client().request(post(url, { signal: aborted.signal })))).toBe('unknown aborted')
  })

  test.each(['POST', 'GET'] as const)(
    'when a kept connection breaks: a %s is not sent again',
    async (method) => {
      let connections = 0
      const { url, requests } = await serveHostile((socket) => {
        connections += 1
        if (connections === 1) socket.write(`${OK}content-length: 0\r\n\r\n`)
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

describe('a repeatable request', () => {
  /** Answers the first request of each connection, and resets the connection at the next one. */
  const serveOnce = () => {
    const answered = new WeakSet<Socket>()
    return serveHostile((socket) => {
      if (answered.has(socket)) socket.resetAndDestroy()
      else socket.write(`${OK}content-length: 0\r\n\r\n`)
      answered.add(socket)
    })
  }

  test('is sent once more over a new connection when a kept one breaks', async () => {
    const { url, requests } = await serveOnce()
    const http = client()
    let headers_made = 0
    const createHeaders = () => {
      headers_made += 1
      return {}
    }
    for (let sent = 1; sent <= 3; sent += 1)
      expect(await http.request(post(url, { is_repeatable: true, createHeaders }))).toMatchObject({
        status: 200,
      })
    expect([requests(), headers_made]).toEqual([5, 5])
  })

  test('gets a new connection also when all are kept ones', async () => {
    const { url, requests } = await serveOnce()
    const http = client({ connections_per_origin: 2 })
    const send = () => http.request(post(url, { is_repeatable: true }))
    await Promise.all([send(), send()])
    expect(await send()).toMatchObject({ status: 200 })
    expect(requests()).toBe(4)
  })

  test('is not sent again when a new connection breaks', async () => {
    const { url, requests } = await serveHostile((socket) => void socket.resetAndDestroy())
    expect(await failure(client().request(post(url, { is_repeatable: true })))).toBe('unknown reset')
    expect(requests()).toBe(1)
  })

  test('is not sent again when a kept connection gives a bad response', async () => {
    let count = 0
    const { url, requests } = await serveHostile((socket) => {
      count += 1
      socket.write(count === 1 ? `${OK}content-length: 0\r\n\r\n` : 'SSH-2.0-x\r\n')
    })
    const http = client()
    await http.request(post(url, { is_repeatable: true }))
    expect(await failure(http.request(post(url, { is_repeatable: true })))).toBe('unknown bad_response')
    expect(requests()).toBe(2)
  })
})

describe('with body_grace_ms', () => {
  const grace = { response_max_bytes: 100, body_grace_ms: 5_000 }

  test.each<[string, (socket: Socket) => void, number]>([
    ['incomplete', (socket) => void socket.end(`${OK}content-length: 99\r\n\r\nx`), 1],
    ['endless', (socket) => pour(socket, 'x'.repeat(1000), `${OK}\r\n`), 100],
    [
      'larger than allowed',
      (socket) => void socket.write(`${OK}content-length: 101\r\n\r\n${'x'.repeat(101)}`),
      100,
    ],
  ])('a body that is %s is cut', async (_name, speak, length) => {
    const { url } = await serveHostile(speak)
    const response = await client().request(post(url, grace))
    expect([response.status, response.body.length, response.truncated]).toEqual([200, length, true])
  })

  test('a body of exactly the permitted size is not cut', async () => {
    const { url } = await serveHostile(
      (socket) => void socket.write(`${OK}content-length: 100\r\n\r\n${'x'.repeat(100)}`),
    )
    expect(await client().request(post(url, grace))).toMatchObject({ status: 200, truncated: false })
  })

  test('a body that is late is cut when the grace time ends', async () => {
    const { url } = await serveHostile((socket) => void socket.write(`${OK}content-length: 99\r\n\r\nx`))
    const response = await client().request(post(url, { ...grace, body_grace_ms: 100 }))
    expect([response.status, response.body.length, response.truncated]).toEqual([200, 1, true])
  })

  test('timeout_ms still limits the header', async () => {
    const clock = stopClock()
    const { url, read } = await serveHostile((socket) => void socket.write(OK))
    const failed = failure(client().request(post(url, grace)))
    await read(1)
    await clock.advance(HANG_LIMIT_MS)
    expect(await failed).toBe('unknown timeout')
  })
})

test('closing waits for the responses of running requests', async () => {
  const arrived = Promise.withResolvers<void>()
  const closing = Promise.withResolvers<void>()
  const url = await serveHttp(async (_request, response) => {
    arrived.resolve()
    await closing.promise
    response.end('late')
  })
  const http = createHttpClient({ allow: allowAnyAddress })
  const running = http.request(post(url))
  await arrived.promise
  const closed = http.close()
  closing.resolve()
  expect(`${Buffer.from((await running).body)}`).toBe('late')
  await closed
})

test('closing fails running requests as unknown after a moment, and refuses new ones', async () => {
  const arrived = Promise.withResolvers<void>()
  const { url } = await serveHostile(() => arrived.resolve())
  const http = createHttpClient({ allow: allowAnyAddress })
  const running = failure(http.request(post(url)))
  await arrived.promise
  await http.close()
  expect(await running).toBe('unknown aborted')
  expect(await failure(http.request(post(url)))).toBe('not_sent aborted')
  await http.close()
})
