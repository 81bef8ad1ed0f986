import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Listening } from '#lib/http/network.ts'
import { serveHealth } from './health-server.ts'
import { createLifecycle, type OwnedLifecycle } from './lifecycle.ts'

let lifecycle: OwnedLifecycle
let listening: Listening
beforeEach(async () => {
  lifecycle = createLifecycle()
  const { readiness, draining } = lifecycle
  listening = await serveHealth(readiness, { host: '127.0.0.1', port: 0, draining })
})
afterEach(() => listening.close())

const request = async (path: string, method = 'GET') => {
  const answer = await fetch(`http://${listening.host_and_port}${path}`, { method })
  return { status: answer.status, body: await answer.text(), connection: answer.headers.get('connection') }
}

// R2
test('serves health, readiness and metrics', async () => {
  expect(await request('/healthz?x=1')).toMatchObject({ status: 200, body: 'ok\n' })
  expect(await request('/readyz')).toMatchObject({ status: 200, body: 'ready\n' })
  expect(await request('/metrics')).toMatchObject({ status: 200, body: expect.stringContaining('# HELP') })
  expect((await request('/healthz', 'HEAD')).status).toBe(200)
  expect((await request('/healthz', 'POST')).status).toBe(405)
  expect((await request('/')).status).toBe(404)
})

test('names the parts that are not ready', async () => {
  lifecycle.readiness.set('payments', false)
  expect(await request('/readyz')).toMatchObject({ status: 503, body: 'waiting for payments\n' })
})

test('says what a ready process cannot do', async () => {
  lifecycle.readiness.setLimitations('balances', ['shard 7: newer format', 'shard 9: newer format'])
  expect(await request('/readyz')).toMatchObject({
    status: 200,
    body: 'ready\nbalances: shard 7: newer format\nbalances: shard 9: newer format\n',
  })
  lifecycle.readiness.setLimitations('balances', [])
  expect(await request('/readyz')).toMatchObject({ status: 200, body: 'ready\n' })
})

// R5
test('reports the stop while the process drains, and ends every connection', async () => {
  lifecycle.setDrainTime(60_000)
  void lifecycle.drain()
  expect(await request('/readyz')).toEqual({
    status: 503,
    body: 'waiting for stopping\n',
    connection: 'close',
  })
  expect(await request('/healthz')).toEqual({ status: 200, body: 'ok\n', connection: 'close' })
})

test('closes a connection beyond 1,000 at once', async () => {
  const health = await serveHealth(createLifecycle().readiness, { host: '127.0.0.1', port: 0 })
  const open: Socket[] = []
  // Each is answered before the next: it counts, and it is not closed for a request that is late.
  while (open.length < 1_000) {
    const socket = connect(health.port, '127.0.0.1')
    socket.write('GET /healthz HTTP/1.1\r\nHost: health\r\n\r\n')
    await once(socket, 'data')
    open.push(socket)
  }
  const surplus = connect(health.port, '127.0.0.1').on('error', () => {})
  const answered = once(surplus, 'data').then(
    () => 'answered',
    () => 'closed',
  )
  surplus.write('GET /healthz HTTP/1.1\r\nHost: health\r\n\r\n')
  expect(await Promise.race([answered, once(surplus, 'close').then(() => 'closed')])).toBe('closed')
  for (const socket of open) socket.destroy()
  await health.close()
})
