import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Listening } from '#lib/http/network.ts'
import { eventually } from '../test/support/eventually.ts'
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

test.each([
  ['idle', ''],
  ['answered', 'GET /healthz HTTP/1.1\r\nHost: health\r\n\r\n'],
])('answers a probe while 1,000 %s connections are open, at the cost of the oldest', async (_what, text) => {
  const { port } = listening
  const open: Socket[] = []
  try {
    // One after the other, so that the order is known.
    while (open.length < 1_000) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
      open.push(socket)
      await once(socket, 'connect')
      socket.write(text)
      if (text !== '') await once(socket, 'data')
      socket.resume()
    }
    expect((await request('/healthz')).status).toBe(200)
    const [oldest, ...others] = open
    await eventually(
      async () => oldest?.destroyed,
      (destroyed) => destroyed === true,
    )
    expect(others.filter(({ destroyed }) => destroyed).length).toBeLessThan(10)
  } finally {
    for (const socket of open) socket.destroy()
  }
})
