import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterEach, expect, test } from '@jest/globals'
import { grpcHealth, NOT_SERVING } from '../../../test/support/grpc-health.ts'
import { grpcClient, merchantService, serveProcess, tokenOf } from '../../../test/support/rpc.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (let end = cleanups.pop(); end !== undefined; end = cleanups.pop()) await end()
})

/** A server that drains from the call of `drain` on. GetMerchant ends when `finish` has been called. */
async function serve() {
  const draining = new AbortController()
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const getMerchant = async (): Promise<object> => {
    arrive()
    await finished
    return {}
  }
  const served = await serveProcess([merchantService({ getMerchant })], { draining: draining.signal })
  cleanups.push(() => served.close())
  const url = `http://127.0.0.1:${served.serving.grpc_port}`
  return { ...served, url, drain: () => draining.abort(), arrived, finish }
}

async function merchantsAt(url: string) {
  const { merchants, close } = await grpcClient(new URL(url).host, tokenOf('gateway'))
  cleanups.push(close)
  return merchants
}

// R5
test('a draining server takes calls on old and new connections, and reports that it is not serving', async () => {
  const { serving, url, drain, arrived, finish } = await serve()
  serving.setServing(true)
  const [old, late] = [await merchantsAt(url), await merchantsAt(url)]
  const call_in_progress = old.getMerchant({})
  await arrived
  drain()
  expect(await grpcHealth(url)).toBe(NOT_SERVING)
  serving.setServing(true)
  expect(await grpcHealth(url)).toBe(NOT_SERVING)
  for (let call = 0; call < 20; call += 1) await Promise.all([old.listMerchants({}), late.listMerchants({})])
  finish()
  expect(await call_in_progress).toMatchObject({ $typeName: expect.stringContaining('GetMerchantResponse') })
})

// R5
test('a draining server asks the clients of open connections to connect again, and keeps new ones open', async () => {
  const { url, drain } = await serve()
  const open = connect(url)
  await once(open, 'remoteSettings')
  const asked = once(open, 'goaway')
  const closed = once(open, 'close')
  drain()
  await Promise.all([asked, closed])
  const other = connect(url)
  cleanups.push(() => other.destroy())
  await once(other, 'remoteSettings')
  expect(other.closed).toBe(false)
})
