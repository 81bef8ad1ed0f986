import { createServer, type RequestListener } from 'node:http'
import { afterEach, expect, test } from '@jest/globals'
import { fastify } from 'fastify'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { listen } from '#lib/http/network.ts'
import { connection_caller_key, createConnectListener } from '#lib/rpc/server/connect-listener.ts'
import { createEndpointFactory } from '#lib/rpc/server/dispatch.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { createPathHandler } from './http-paths.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(() => server.closeAllConnections())
  closing.push(() => server.close())
  const address = { host: '127.0.0.1', port: 0, variable: 'none' }
  return `http://${(await listen(server, address)).host_and_port}`
}

/** Takes note of whose connections were proven. */
function watchedConnections() {
  const callers: (string | undefined)[] = []
  return { callers, markAuthenticated: (_peer: string, caller?: string) => void callers.push(caller) }
}

// O22: connections that nobody answers for would not count against the limit of any caller.
test('a connection that an RPC has proven counts for the caller of the RPC', async () => {
  const connections = watchedConnections()
  const endpoint = createEndpointFactory(createLog('test'))(
    MerchantService.method.listMerchants,
    {
      identify: () => undefined,
      isOutside: () => true,
      check: ({ values, header }) => void values?.set(connection_caller_key, header('x-caller')),
    },
    async () => ({}),
  )
  const url = await serve(createConnectListener([endpoint], connections))
  for (const caller of ['one', 'two']) {
    const headers = { 'content-type': 'application/json', 'x-caller': caller }
    const path = '/multihub.merchants.v1.MerchantService/ListMerchants'
    expect((await fetch(`${url}${path}`, { method: 'POST', headers, body: '{}' })).status).toBe(200)
  }
  expect(connections.callers).toEqual(['one', 'two'])
})

test('a connection that a path has proven counts for its caller, and others prove nothing', async () => {
  const connections = watchedConnections()
  const app = fastify()
  app.route({
    method: 'GET',
    url: '/x',
    handler: createPathHandler(
      {
        method: 'GET',
        path: '/x',
        async serve({ response, header, head }) {
          head.values?.set(connection_caller_key, header('x-caller'))
          response.end()
        },
      },
      connections,
      () => undefined,
    ),
  })
  closing.push(() => app.close())
  await app.ready()
  const url = await serve((request, response) => app.routing(request, response))
  for (const headers of [{ 'x-caller': 'one' }, {}]) await (await fetch(`${url}/x`, { headers })).text()
  expect(connections.callers).toEqual(['one'])
})
