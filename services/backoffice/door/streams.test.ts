import { create, type Message } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  ExchangeService,
  type WatchExchangesResponse,
  WatchExchangesResponseSchema,
} from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { OperatorRpc } from '../domain/operator-rpcs.ts'
import { createStreams } from './streams.ts'

const method = ExchangeService.method.watchExchanges
const RPC: OperatorRpc = { method, rights: ['read'], changes: false }
const MINUTE_MS = 60_000

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

const message = (cursor: string): WatchExchangesResponse => create(WatchExchangesResponseSchema, { cursor })

/** A stream whose news are `waiting`; `taken` is what its client has got. */
async function openStream({ checkAgain = async () => {} } = {}) {
  const waiting: Message[] = []
  const draining = new AbortController()
  const gone = new AbortController()
  const opened = { first: message('first'), poll: async () => waiting.shift(), empty: () => message('empty') }
  const streams = createStreams({
    openers: new Map([[method, async () => opened]]),
    draining: draining.signal,
    log: createLog('test'),
  })
  const open = (caller: object = {}) =>
    streams.open(RPC, message(''), { principal_id: 'one', checkAgain, ...caller })
  const messages = (await open()).messages(gone.signal)
  const taken: string[] = []
  const read = async (): Promise<unknown> => {
    try {
      for await (const one of messages) taken.push((one as WatchExchangesResponse).cursor)
      return 'ended'
    } catch (error) {
      return error
    }
  }
  return { waiting, draining, gone, open, messages, taken, read }
}

// O20
test('a stream without news sends an empty message every 15 seconds, and ends after 15 minutes', async () => {
  const { taken, read } = await openStream()
  const end = read()
  await clock.advance(14_000)
  expect(taken).toEqual([])
  await clock.advance(2_000)
  expect(taken).toEqual(['empty'])
  await clock.advance(15 * MINUTE_MS)
  expect(await end).toBe('ended')
  expect(taken.length).toBeGreaterThan(55)
})

// O20
test('news come within half a second, and the next are read when the client has taken them', async () => {
  const { waiting, taken, read, gone, messages } = await openStream()
  waiting.push(message('a'), message('b'), message('c'))
  // The client takes one message and pauses.
  expect((await messages.next()).value).toMatchObject({ cursor: 'a' })
  await clock.advance(MINUTE_MS)
  expect(waiting).toHaveLength(2)
  const end = read()
  await clock.advance(500)
  expect(taken).toEqual(['b', 'c'])
  gone.abort()
  expect(await end).toBe('ended')
})

// R5
test('a stream ends when the process drains, and no other one begins there', async () => {
  const { draining, open, read } = await openStream()
  const end = read()
  await clock.advance(1_000)
  draining.abort()
  expect(await end).toBe('ended')
  await expect(open()).rejects.toThrow(new RpcStatusError(Code.Unavailable, 'this process is about to stop'))
})

// O3, O20: a token that was revoked, or a principal that has lost the right
test.each([Code.Unauthenticated, Code.PermissionDenied])(
  'a stream ends within a second of a check refused with %s; a store that does not answer ends none',
  async (code) => {
    let answer: unknown = new Error('the store is away')
    const checkAgain = async () => {
      throw answer
    }
    const { read } = await openStream({ checkAgain })
    const end = read()
    await clock.advance(5_000)
    answer = new RpcStatusError(code, 'not any more')
    await clock.advance(1_000)
    expect(await end).toMatchObject({ code })
  },
)

// O20: a client that takes nothing holds no place after the end
test('a principal has 20 places, which are free again after 15 minutes', async () => {
  const { open } = await openStream()
  for (let count = 1; count < 20; count += 1) await open()
  await expect(open()).rejects.toMatchObject({ status: Code.ResourceExhausted })
  await clock.advance(15 * MINUTE_MS)
  await open()
})

// O20
test('all principals of a merchant have 40 places', async () => {
  const { open } = await openStream()
  for (let count = 0; count < 40; count += 1)
    await open({ principal_id: `of merchant ${count}`, merchant_id: '7001' })
  await expect(open({ principal_id: 'another', merchant_id: '7001' })).rejects.toMatchObject({
    status: Code.ResourceExhausted,
  })
  await open({ principal_id: 'another', merchant_id: '7002' })
})

// O20
test('a process has 200 streams, whosever they are', async () => {
  const { open } = await openStream()
  for (let count = 1; count < 200; count += 1)
    await open({ principal_id: `${count}`, merchant_id: `of ${count}` })
  await expect(open({ principal_id: 'another' })).rejects.toMatchObject({ status: Code.ResourceExhausted })
})
