import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { NODE_OPTIONS } from '../../scripts/node-options.mjs'
import { collectGarbage } from '../../test/support/collect-garbage.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { testWith } from '../../test/support/needs.ts'
import { createConnectionPool } from './connection-pool.ts'
import { createHttpFixture, failure, post } from './http.fixture.ts'
import { UnresolvedNameError } from './http-failure.ts'
import { useNetwork } from './network.ts'

const NO_SOCKET_PROGRAM = join(import.meta.dirname, 'no-socket.fixture.ts')

const { client, serveHttp, serveHostile, stopClock } = createHttpFixture()

describe('the connections of a client', () => {
  test('reuses connections, and opens at most connections_per_origin', async () => {
    const sockets = new Set<unknown>()
    const url = await serveHttp((request, response) => {
      sockets.add(request.socket)
      response.end()
    })
    const http = client({ connections_per_origin: 2 })
    await Promise.all(Array.from({ length: 20 }, () => http.request(post(url))))
    expect(sockets.size).toBeLessThanOrEqual(2)
  })

  test('opens its own connection when keep_alive_ms is 0', async () => {
    const sockets = new Set<unknown>()
    const url = await serveHttp((request, response) => {
      sockets.add(request.socket)
      response.end()
    })
    const http = client({ keep_alive_ms: 0 })
    for (let n = 0; n < 3; n += 1) await http.request(post(url))
    expect(sockets.size).toBe(3)
  })

  test('live for 10 s at most, so that another address of the name is used then', async () => {
    const clock = stopClock()
    const sockets = new Set<unknown>()
    const url = await serveHttp((request, response) => {
      sockets.add(request.socket)
      response.end()
    })
    const http = client({ keep_alive_ms: HANG_LIMIT_MS })
    await http.request(post(url))
    await clock.advance(9_900)
    await http.request(post(url))
    expect(sockets.size).toBe(1)
    await clock.advance(200)
    await http.request(post(url))
    expect(sockets.size).toBe(2)
  })

  test('are not used again after a response that was cut: its rest could be taken for the next one', async () => {
    let closed = 0
    let size = 101
    const controller = { abort() {}, pause() {}, resume() {}, aborted: false, paused: false, reason: null }
    const notUsed = (): never => {
      throw new Error('the test uses no server')
    }
    const restoreNetwork = useNetwork({
      listen: notUsed,
      lookup: notUsed,
      connect: notUsed,
      createDispatcher: () => ({
        dispatch(_request, handler) {
          handler.onRequestStart?.(controller, undefined)
          handler.onResponseStart?.(controller, 200, {})
          handler.onResponseData?.(controller, Buffer.alloc(size))
          handler.onResponseEnd?.(controller, {})
          return true
        },
        async destroy() {
          closed += 1
        },
      }),
    })
    try {
      const http = client()
      const limits = { response_max_bytes: 100, body_grace_ms: HANG_LIMIT_MS }
      const request = () => http.request(post('http://shop.example.com/', limits))
      expect(await request()).toMatchObject({ truncated: true })
      expect(closed).toBe(1)
      size = 100
      expect(await request()).toMatchObject({ truncated: false })
      expect(closed).toBe(1)
    } finally {
      restoreNetwork()
    }
  })
})

describe('a request fails as not_sent', () => {
  test('when all connections are busy until its timeout', async () => {
    const clock = stopClock()
    const { url, requests, read } = await serveHostile(() => {})
    const http = client({ connections_per_origin: 2 })
    const failures = Array.from({ length: 5 }, (_, n) =>
      failure(http.request(post(url, { timeout_ms: n < 2 ? 400 : 100 }))),
    )
    await read(2)
    await clock.advance(400)
    expect((await Promise.all(failures)).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'not_sent busy'),
      ...Array.from({ length: 2 }, () => 'unknown timeout'),
    ])
    await http.close()
    expect(requests()).toBe(2)
  })

  test('when no connection was available within connection_wait_ms', async () => {
    const clock = stopClock()
    const { url, read } = await serveHostile(() => {})
    const http = client({ connections_per_origin: 1 })
    const first = failure(http.request(post(url)))
    await read(1)
    const second = failure(http.request(post(url, { connection_wait_ms: 100 })))
    await clock.advance(100)
    expect(await second).toBe('not_sent busy')
    await clock.advance(HANG_LIMIT_MS)
    expect(await first).toBe('unknown timeout')
  })

  test('when it is aborted while it waits for a connection', async () => {
    const { url, read } = await serveHostile(() => {})
    const http = client({ connections_per_origin: 1 })
    const aborted = new AbortController()
    const first = failure(http.request(post(url, { signal: aborted.signal })))
    await read(1)
    const second = failure(http.request(post(url, { signal: aborted.signal })))
    aborted.abort()
    expect([await first, await second]).toEqual(['unknown aborted', 'not_sent aborted'])
  })

  test('when this machine has no name server', async () => {
    const cause = Object.assign(new Error('queryA ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const http = client({ resolve: () => Promise.reject(new UnresolvedNameError('nowhere', { cause })) })
    expect(await failure(http.request(post('http://nowhere.example/')))).toBe('not_sent no_name_server')
  })

  testWith('sh')('when this process has no file descriptor left, and a later one is sent', async () => {
    const limited = [
      '-c',
      'ulimit -n 64 && exec "$0" "$@"',
      process.execPath,
      ...NODE_OPTIONS,
      NO_SOCKET_PROGRAM,
    ]
    const { stdout } = await promisify(execFile)('sh', limited)
    expect(stdout).toBe('not_sent no_socket, then 200\n')
  })
})

test('keeps no connection whose socket was closed while it was in use, nor one that closes while it is idle', async () => {
  const closed: (() => void)[] = []
  let destroyed = 0
  const pool = createConnectionPool({
    connections_per_origin: 8,
    life_ms: HANG_LIMIT_MS,
    open(_origin, onClosed) {
      closed.push(onClosed)
      return {
        dispatch: () => true,
        destroy: async () => {
          destroyed += 1
        },
      }
    },
  })
  const acquire = () => pool.acquire('http://shop.example.com', HANG_LIMIT_MS, [])
  const first = await acquire()
  closed[0]?.()
  first.release(true)
  expect([closed.length, destroyed]).toEqual([1, 1])
  const second = await acquire()
  second.release(true)
  const again = await acquire()
  expect(closed).toHaveLength(2)
  again.release(true)
  closed[1]?.()
  expect(destroyed).toBe(2)
  await pool.close()
})

// N7
describe('a request that waits for a connection', () => {
  test('has its time limit and its headers from the moment when the connection is available', async () => {
    const clock = stopClock()
    const { url, read } = await serveHostile(() => {})
    const http = client({ connections_per_origin: 1 })
    const first = failure(http.request(post(url, { timeout_ms: 400 })))
    await read(1)
    const signed_ms: number[] = []
    const createHeaders = () => {
      signed_ms.push(clock.monotonic_ms())
      return {}
    }
    let second = 'waits'
    void failure(
      http.request(post(url, { timeout_ms: 300, connection_wait_ms: HANG_LIMIT_MS, createHeaders })),
    ).then((result) => {
      second = result
    })
    await clock.advance(399)
    expect(signed_ms).toEqual([])
    await clock.advance(1)
    expect(await first).toBe('unknown timeout')
    await read(2)
    await clock.advance(299)
    expect([second, signed_ms]).toEqual(['waits', [400]])
    await clock.advance(1)
    expect(second).toBe('unknown timeout')
  })

  test('gets the connection of a request that fails before it is connected', async () => {
    const clock = stopClock()
    const url = await serveHttp((_request, response) => response.end())
    const { port } = new URL(url)
    let look_ups = 0
    const http = client({
      connections_per_origin: 1,
      resolve: () => {
        look_ups += 1
        return look_ups === 1 ? new Promise(() => {}) : Promise.resolve([{ address: '127.0.0.1', family: 4 }])
      },
    })
    const slow = failure(http.request(post(`http://slow.example:${port}/`, { timeout_ms: 100 })))
    const next = http.request(post(`http://slow.example:${port}/`))
    await clock.advance(100)
    expect([await slow, (await next).status]).toEqual(['not_sent timeout_connect', 200])
  })
})

test('a request that ends while it connects leaves no socket behind', async () => {
  const clock = stopClock()
  const closed = Promise.withResolvers<void>()
  const { url, read } = await serveHostile((socket) => void socket.on('close', () => closed.resolve()))
  const http = client({ connect_timeout_ms: 0 })
  const failed = failure(http.request(post(url.replace('http:', 'https:'), { timeout_ms: 100 })))
  // The server has the first message of the TLS handshake, and does not answer.
  await read(1)
  await clock.advance(100)
  expect(await failed).toBe('not_sent timeout_connect')
  await closed.promise
})

test('origins that are used once leave no memory behind', async () => {
  const connection = { dispatch: () => {}, destroy: async () => {} }
  const pool = createConnectionPool({ open: () => connection, connections_per_origin: 1, life_ms: 10_000 })
  const padding = 'x'.repeat(10_000)
  const useOrigins = async (): Promise<number> => {
    for (let number = 0; number < 2_000; number += 1) {
      const acquired = await pool.acquire(`https://${randomUUID()}.example/${padding}`, 0, [])
      acquired.release(false)
    }
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const first = await useOrigins()
  // Their URLs alone have 20 MB.
  expect((await useOrigins()) - first).toBeLessThan(5 * 1024 * 1024)
})
