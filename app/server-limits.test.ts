import { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import { expect, test } from '@jest/globals'
import { type Listening, useNetwork } from '#lib/http/network.ts'
import { serveConnect } from '#lib/rpc/server/connect-server.ts'
import { serveGrpc } from '#lib/rpc/server/grpc-server.ts'
import { serveHealth } from './health-server.ts'
import { createLifecycle } from './lifecycle.ts'

const ADDRESS = { host: '127.0.0.1', port: 0 }
const RPC = { ...ADDRESS, endpoints: [], tls: undefined, authenticate: () => undefined }
const NOWHERE: Listening = { port: 0, host_and_port: '', close: async () => {} }
const notUsed = (): never => {
  throw new Error('the test uses no client')
}

/** The server that `serve` would let listen. */
async function serverOf(serve: () => Promise<unknown>): Promise<Server> {
  const given = Promise.withResolvers<Server>()
  const restoreNetwork = useNetwork({
    async listen(server) {
      given.resolve(server)
      return NOWHERE
    },
    connect: notUsed,
    createDispatcher: notUsed,
    lookup: notUsed,
  })
  try {
    await serve()
    return await given.promise
  } finally {
    restoreNetwork()
  }
}

test.each([
  // A thousand more may be in the course of being closed.
  ['gRPC', () => serveGrpc(RPC), 6_000],
  ['Connect', () => serveConnect(RPC), 6_000],
  ['health', () => serveHealth(createLifecycle().readiness, ADDRESS), 2_000],
])('the port of %s has a limit of connections', async (_name, serve, limit) => {
  expect((await serverOf(serve)).maxConnections).toBe(limit)
})

test.each([
  ['Connect', () => serveConnect(RPC), [10_000, 30_000, 130_000, 65_000]],
  ['health', () => serveHealth(createLifecycle().readiness, ADDRESS), [5_000, 10_000, 0, 65_000]],
])(
  'the port of %s waits for no head, request, response or next request without end',
  async (_name, serve, times) => {
    const server = await serverOf(serve)
    if (!(server instanceof HttpServer)) throw new Error('it is not an HTTP server')
    const { headersTimeout, requestTimeout, timeout, keepAliveTimeout } = server
    expect([headersTimeout, requestTimeout, timeout, keepAliveTimeout]).toEqual(times)
  },
)
