import { createServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type Client, createClient } from '@connectrpc/connect'
import { afterEach, expect, test } from '@jest/globals'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { merchantService, serveProcess, tokenOf } from '../../../test/support/rpc.ts'
import { createOutgoingConnections, type OutgoingConnections } from './connections.ts'

/** Addresses of processes that are gone: nothing listens there. They are more than the connections that are kept. */
const GONE = Array.from({ length: 300 }, (_, index) => `127.0.0.1:${1 + index}`)

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (let end = cleanups.pop(); end !== undefined; end = cleanups.pop()) await end()
})

function openConnections(): OutgoingConnections {
  const connections = createOutgoingConnections(new Secret(tokenOf('gateway')), undefined)
  cleanups.push(connections.close)
  return connections
}

const merchantsAt = (connections: OutgoingConnections, address: string): Client<typeof MerchantService> =>
  createClient(MerchantService, connections.to(address))

/** Calls each process that is gone. */
async function callGone(connections: OutgoingConnections): Promise<void> {
  for (const address of GONE)
    await expect(merchantsAt(connections, address).getMerchant({})).rejects.toMatchObject({ code: 2002 })
}

/** A server that answers no call, and its open connections. */
async function countConnections(): Promise<{ address: string; open: ReadonlySet<ServerHttp2Session> }> {
  const open = new Set<ServerHttp2Session>()
  const server = createServer().on('stream', (stream) =>
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
      { endStream: true },
    ),
  )
  server.on('session', (session) => {
    open.add(session)
    session.on('close', () => open.delete(session))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => server.close())
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, open }
}

test('a process is reached after 300 others that are gone', async () => {
  const connections = openConnections()
  const served = await serveProcess([merchantService()])
  cleanups.push(() => served.close())
  await callGone(connections)
  const merchants = merchantsAt(connections, `127.0.0.1:${served.serving.grpc_port}`)
  expect(await merchants.getMerchant({ merchantId: '7' })).toMatchObject({ merchant: { merchantId: '7' } })
})

test('there is one connection per address; the one unused for the longest time is closed, and opened again', async () => {
  const connections = openConnections()
  const { address, open } = await countConnections()
  const call = (): Promise<unknown> =>
    merchantsAt(connections, address)
      .getMerchant({})
      .catch(() => {})
  const kept = merchantsAt(connections, address)
  await Promise.all([call(), call(), kept.getMerchant({}).catch(() => {})])
  expect(open.size).toBe(1)
  await callGone(connections)
  await eventually(
    () => Promise.resolve(open.size),
    (size) => size === 0,
  )
  await kept.getMerchant({}).catch(() => {})
  expect(open.size).toBe(1)
})

test('a call in progress ends although its connection is given up', async () => {
  const connections = openConnections()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const getMerchant = async (): Promise<{ merchant: { name: string } }> => {
    arrive()
    await answer
    return { merchant: { name: 'slow' } }
  }
  const served = await serveProcess([merchantService({ getMerchant })])
  cleanups.push(() => served.close())
  const slow = merchantsAt(connections, `127.0.0.1:${served.serving.grpc_port}`).getMerchant({})
  await arrived
  await callGone(connections)
  resolve()
  expect(await slow).toMatchObject({ merchant: { name: 'slow' } })
})

test('a call after the close opens no connection', async () => {
  const connections = openConnections()
  const { address, open } = await countConnections()
  const merchants = merchantsAt(connections, address)
  connections.close()
  await expect(merchants.getMerchant({})).rejects.toMatchObject({ code: 2002 })
  expect(open.size).toBe(0)
})
