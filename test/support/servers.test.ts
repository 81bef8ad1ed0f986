import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { freePort } from './free-port.ts'
import { startPrivateMongoProxy, startPrivateNats } from './servers.ts'
import { startTcpProxy } from './tcp-proxy.ts'

const nats = await startPrivateNats()
const mongodb = await startPrivateMongoProxy()

/** The first bytes that the server at this port sends; throws when the connection is refused. */
async function greeting(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    return String((await once(socket, 'data'))[0])
  } finally {
    socket.destroy()
  }
}

test('the TCP proxy holds bytes back while it is stalled, in both directions or in one, and drops and refuses while it is cut', async () => {
  const port = await freePort()
  let received = ''
  const echo = createServer((socket) => {
    socket.on('data', (data) => {
      received += data
    })
    socket.on('error', () => {}).pipe(socket)
  }).listen(port, '127.0.0.1')
  const proxy = await startTcpProxy('127.0.0.1', port)
  const client: Socket = connect(proxy.port, '127.0.0.1')
  let got = ''
  client.on('data', (data) => {
    got += data
  })
  client.write('one ')
  await once(client, 'data')

  proxy.stall()
  client.write('two ')
  await delay(50)
  expect(got).toBe('one ')
  await proxy.restore()
  await once(client, 'data')
  expect(got).toBe('one two ')

  proxy.stall(['to client'])
  client.write('three ')
  await delay(50)
  expect([received, got]).toEqual(['one two three ', 'one two '])
  await proxy.restore()
  await once(client, 'data')
  proxy.stall(['to server'])
  client.write('four')
  await delay(50)
  expect(received).toBe('one two three ')
  await proxy.restore()
  await once(client, 'data')
  expect(got).toBe('one two three four')

  const dropped = expect(once(client, 'data')).rejects.toThrow('ECONNRESET')
  await proxy.cut()
  await dropped
  await expect(greeting(proxy.port)).rejects.toThrow('ECONNREFUSED')
  echo.close()
})

if ('skip' in nats) {
  test.skip(`a private NATS: ${nats.skip}`, () => {})
} else {
  afterAll(nats.stop)
  test('a private NATS is killed and comes back on its port', async () => {
    await nats.kill()
    await expect(greeting(nats.port)).rejects.toThrow('ECONNREFUSED')
    await nats.restart()
    await expect(greeting(nats.port)).resolves.toMatch(/^INFO/)
  })
}

if ('skip' in mongodb) {
  test.skip(`a private way to MongoDB: ${mongodb.skip}`, () => {})
} else {
  afterAll(mongodb.stop)
  test('MongoDB behind the proxy goes away and comes back for the driver', async () => {
    const client = new MongoClient(mongodb.uri, { serverSelectionTimeoutMS: 300, socketTimeoutMS: 300 })
    const ping = (): Promise<unknown> => client.db('admin').command({ ping: 1 })
    await expect(ping()).resolves.toMatchObject({ ok: 1 })
    await mongodb.cut()
    await expect(ping()).rejects.toThrow()
    await mongodb.restore()
    await expect(ping()).resolves.toMatchObject({ ok: 1 })
    mongodb.stall()
    await expect(ping()).rejects.toThrow()
    await mongodb.restore()
    await expect(ping()).resolves.toMatchObject({ ok: 1 })
    await client.close()
  })
}
