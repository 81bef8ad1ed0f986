import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { eventually } from '../../../test/support/eventually.ts'
import { startPrivateMongoProxy } from '../../../test/support/servers.ts'
import { watchMonitoring } from './connect.ts'

/** The time limit of the calls of the test's client. */
const TIMEOUT_MS = 1_000
/** The time limit of the checks of its server. */
const LIMIT_MS = 3_000

/** What the driver has inside for a server. */
interface DriverServer {
  readonly monitor: {
    readonly s: { readonly state: string }
    readonly connection: { readonly socket: { destroy(): void } } | null
  }
  requestCheck(): void
}

const proxy = await startPrivateMongoProxy()

if ('skip' in proxy) test.skip(`a hung check of MongoDB: ${proxy.skip}`, () => {})
else
  test('a client finds its server again after a check that never ended', async () => {
    const client = new MongoClient(proxy.uri, {
      serverSelectionTimeoutMS: TIMEOUT_MS,
      connectTimeoutMS: TIMEOUT_MS,
      socketTimeoutMS: TIMEOUT_MS,
      // A request for a check begins it at once.
      heartbeatFrequencyMS: 500,
      minHeartbeatFrequencyMS: 1,
    })
    const watch = watchMonitoring(client, LIMIT_MS)
    try {
      await untilTrue(() => succeeds(client.connect()))
      const server = serverOf(client)
      await untilTrue(async () => hangCheck(server))
      // A call that loses its connection makes the driver look for the server again.
      proxy.stall()
      const checked_out = once(client, 'connectionCheckedOut')
      const lost = succeeds(ping(client))
      await checked_out
      await setImmediate()
      await proxy.cut()
      expect(await lost).toBe(false)
      await proxy.restore()
      await untilTrue(() => succeeds(ping(client)))
      expect(serverOf(client)).not.toBe(server)
    } finally {
      await watch.stop()
      await client.close()
      await proxy.stop()
    }
  })

/**
 * Does what happens when a server loses all connections, and a call asks for a check before the loss of the one for checks
 * is reported. Returns whether a check began then.
 */
function hangCheck(server: DriverServer): boolean {
  const { connection } = server.monitor
  if (connection === null || server.monitor.s.state !== 'idle') return false
  connection.socket.destroy()
  server.requestCheck()
  return isChecking(server)
}

function isChecking({ monitor }: DriverServer): boolean {
  return monitor.s.state === 'monitoring'
}

function serverOf(client: MongoClient): DriverServer {
  const { topology } = client as unknown as { topology: { s: { servers: Map<string, DriverServer> } } }
  const [server] = topology.s.servers.values()
  if (server === undefined) throw new Error('the driver knows no server')
  return server
}

function ping(client: MongoClient): Promise<unknown> {
  return client.db('admin').command({ ping: 1 })
}

function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  )
}

function untilTrue(read: () => Promise<boolean>): Promise<boolean> {
  return eventually(read, (value) => value === true)
}
