import { once } from 'node:events'
import { type ClientSessionOptions, connect, constants } from 'node:http2'
import { Code } from '@connectrpc/connect'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../../test/support/eventually.ts'
import { grpcHealth } from '../../../test/support/grpc-health.ts'
import {
  merchantService,
  recordingLog,
  serveProcess,
  type TestProcess,
  tokenOf,
} from '../../../test/support/rpc.ts'

const GET = '/multihub.merchants.v1.MerchantService/GetMerchant'

let served: TestProcess
beforeAll(async () => {
  served = await serveProcess([merchantService()], { log: recordingLog().log })
})
afterAll(() => served.close())

/** Lets a client send several headers of a name that permits one. The types of Node.js do not have this option yet. */
const LAX: ClientSessionOptions & { readonly strictSingleValueFields: boolean } = {
  strictSingleValueFields: false,
}

/** The gRPC status of a call with these Authorization headers. Clients of grpc-js cannot send more than one. */
async function statusWith(values: readonly string[]): Promise<number> {
  const session = connect(`http://127.0.0.1:${served.serving.grpc_port}`, LAX)
  const head = [':method', 'POST', ':path', GET, ':scheme', 'http', ':authority', '127.0.0.1']
  const lines = values.flatMap((value) => ['authorization', value])
  const stream = session.request([...head, 'te', 'trailers', 'content-type', 'application/grpc', ...lines])
  const status = new Promise<number>((resolve, reject) => {
    const read = (headers: Readonly<Record<string, unknown>>): void => {
      if (headers['grpc-status'] !== undefined) resolve(Number(headers['grpc-status']))
    }
    stream.on('response', read).on('trailers', read).on('error', reject).resume()
  })
  // An empty message: its flag, and its length in four bytes.
  stream.end(Buffer.alloc(5))
  return await status.finally(() => session.destroy())
}

test('a call with several Authorization headers is refused, whichever of them is valid', async () => {
  const valid = `Bearer ${tokenOf('gateway')}`
  const attempts = [[valid], [valid, 'Bearer wrong'], ['Bearer wrong', valid], ['', valid], [valid, valid]]
  const [first, ...others] = await Promise.all(attempts.map(statusWith))
  expect(first).toBe(0)
  expect(new Set(others)).toEqual(new Set([Code.Unauthenticated]))
})

test.each(['Check', 'Watch'])(
  'a request for %s of health that is longer than a name is ended',
  async (name) => {
    const client = new Client(`127.0.0.1:${served.serving.grpc_port}`, credentials.createInsecure())
    const same = (bytes: Buffer): Buffer => bytes
    const call = client.makeBidiStreamRequest(`/grpc.health.v1.Health/${name}`, same, same)
    const ended = new Promise<number>((resolve) =>
      call.on('data', () => {}).on('error', ({ code }: ServiceError) => resolve(code)),
    )
    call.end(Buffer.alloc(4_000_000))
    expect(await ended.finally(() => client.close())).toBe(Code.ResourceExhausted)
  },
)

test.each([GET, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'])(
  'a refused call of %s that sends no message is closed',
  async (path) => {
    const session = connect(`http://127.0.0.1:${served.serving.grpc_port}`)
    const head = { ':method': 'POST', te: 'trailers', 'content-type': 'application/grpc' }
    const stream = session.request({ ...head, ':path': path })
    const response = once(stream, 'response')
    const closed = once(stream, 'close')
    stream.resume()
    const [headers] = await response
    await closed
    session.destroy()
    expect([headers['grpc-status'], stream.rstCode]).toEqual([
      `${Code.Unauthenticated}`,
      constants.NGHTTP2_NO_ERROR,
    ])
  },
)

test('requests for health that never end give way to new ones, the oldest first', async () => {
  const session = connect(`http://127.0.0.1:${served.serving.grpc_port}`)
  session.setMaxListeners(0)
  const head = { ':method': 'POST', te: 'trailers', 'content-type': 'application/grpc' }
  const closed: number[] = []
  const begin = (number: number): void => {
    const stream = session.request({ ...head, ':path': '/grpc.health.v1.Health/Check' })
    // Without a listener the code of the end would be thrown.
    stream.on('error', () => closed.push(number))
  }
  const untilClosed = (count: number): Promise<readonly number[]> =>
    eventually(
      async () => closed,
      (numbers) => numbers?.length === count,
    )
  try {
    for (let number = 0; number <= 1_000; number += 1) begin(number)
    expect(await untilClosed(1)).toEqual([0])
    expect(await grpcHealth(`http://127.0.0.1:${served.serving.grpc_port}`)).toBeDefined()
    expect(await untilClosed(2)).toEqual([0, 1])
  } finally {
    session.destroy()
  }
})
