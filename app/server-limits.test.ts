import { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import { expect, test } from '@jest/globals'
import { createInternalServer } from '#lib/http/internal-link.ts'
import { type Listening, useNetwork } from '#lib/http/network.ts'
import { serveConnect } from '#lib/rpc/server/connect-server.ts'
import { serveGrpc } from '#lib/rpc/server/grpc-server.ts'
import { createTestGateway } from '../gateway/gateway.fixture.ts'
import { createCallerAddresses } from '../services/backoffice/door/caller-address.ts'
import { createHttpServer } from '../services/backoffice/door/http-server.ts'
import { createProviderCallbackServer } from '../services/payments/provider-callbacks/provider-callback-server.ts'
import { serveProvider } from '../services/sandbox/http/server.ts'
import { serveHealth } from './health-server.ts'
import { createLifecycle } from './lifecycle.ts'

const ADDRESS = { host: '127.0.0.1', port: 0 }
const RPC = { ...ADDRESS, endpoints: [], tls: undefined, authenticate: () => undefined }
const BACKOFFICE = {
  endpoints: [],
  paths: [],
  tls: undefined,
  release: '1',
  addresses: createCallerAddresses([]),
}
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

/** The servers of all ports that speak HTTP, under the names of their metrics. */
const HTTP_PORTS: readonly (readonly [string, () => Promise<Server>, TimesAndLimit])[] = [
  ['connect', () => serverOf(() => serveConnect(RPC)), [10_000, 30_000, 130_000, 65_000, 5_000]],
  [
    'health',
    () => serverOf(() => serveHealth(createLifecycle().readiness, ADDRESS)),
    [5_000, 10_000, 0, 65_000, 1_000],
  ],
  ['files', async () => createInternalServer(undefined, notUsed), [10_000, 600_000, 75_000, 65_000, 1_024]],
  ['gateway', async () => (await createTestGateway()).server, [10_000, 300_000, 75_000, 72_000, 10_000]],
  // The time for a body is a timer of the handler.
  [
    'provider_callbacks',
    async () => createProviderCallbackServer(notUsed),
    [10_000, 300_000, 0, 65_000, 10_000],
  ],
  ['backoffice', async () => createHttpServer(BACKOFFICE).server, [10_000, 300_000, 130_000, 65_000, 2_000]],
  [
    'sandbox',
    () => serverOf(() => serveProvider(notUsed, { ...ADDRESS, variable: 'none', silence_ms: 1 })),
    [10_000, 20_000, 0, 65_000, 5_120],
  ],
]
/** The times for a head, a request, a response without progress and the next request, and the most connections. */
type TimesAndLimit = readonly [number, number, number, number, number]

/** A thousand more may be in the course of being closed. */
const CLOSING_MAX = 1_000

test.each(HTTP_PORTS)(
  'the port %s bounds its connections, checks them each second, and waits for nothing without end',
  async (_name, start, [head, request, response, next, connections]) => {
    const server = await start()
    if (!(server instanceof HttpServer)) throw new Error('it is not an HTTP server')
    const { headersTimeout, requestTimeout, timeout, keepAliveTimeout, maxConnections } = server
    expect([headersTimeout, requestTimeout, timeout, keepAliveTimeout]).toEqual([
      head,
      request,
      response,
      next,
    ])
    expect(maxConnections).toBe(connections + CLOSING_MAX)
    // The types of Node.js do not have it.
    expect(Reflect.get(server, 'connectionsCheckingInterval')).toBe(1_000)
  },
)

test('the port of gRPC bounds its connections', async () => {
  expect((await serverOf(() => serveGrpc(RPC))).maxConnections).toBe(5_000 + CLOSING_MAX)
})
