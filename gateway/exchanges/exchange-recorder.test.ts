import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { uuidv7 } from '#lib/base/ids.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import type { Exchange } from '../http/exchange.ts'
import { openGatewayStore } from '../store.ts'
import { createExchangeRecorder, type ExchangeCollections } from './exchange-recorder.ts'
import { createExchangeReads } from './read-exchanges.ts'

let test_store: TestStore
let collections: ExchangeCollections
let clock: InstalledClock
beforeEach(async () => {
  test_store = await openTestStore()
  collections = await openGatewayStore(test_store.store)
  clock = installManualClock()
})
afterEach(async () => {
  clock[Symbol.dispose]()
  await test_store[Symbol.asyncDispose]()
})

/** An exchange that was answered. */
function answered(
  merchant_id: string,
  {
    is_authenticated = true,
    environment = 'test',
    ...context
  }: Partial<Exchange['context']> & { is_authenticated?: boolean; environment?: Environment } = {},
): Exchange {
  return {
    request_id: uuidv7(),
    started_ms: clock.monotonic_ms(),
    response: { writableEnded: true, statusCode: context.code === undefined ? 200 : 400 },
    context: {
      application_id: '1001',
      claimed: { merchant_id, environment },
      ...(is_authenticated ? { sign: () => ['x', 'y'] as const } : {}),
      ...context,
    },
  } as unknown as Exchange
}

const listOf = (merchant_id: string) =>
  createExchangeReads(collections).list({ merchant_id, page_size: 1_000, page_token: '' })

// O20
test('a flood of one merchant, or in its name, loses its own exchanges only, and their number is kept', async () => {
  const recorder = createExchangeRecorder(collections, createLog('test'))
  for (let count = 0; count < 2_500; count += 1)
    recorder.record(answered('7001', { is_authenticated: false }))
  recorder.record(answered('7001', { code: 9000 }))
  recorder.record(answered('7002'))
  await recorder.stop()
  expect((await listOf('7001')).items[0]).toMatchObject({ code: 9000, is_authenticated: true })
  expect((await listOf('7001')).lost).toBe(500)
  const other = await listOf('7002')
  expect([other.items.length, other.lost]).toEqual([1, 0])
})

test('after a flood the allowance grows again', async () => {
  const recorder = createExchangeRecorder(collections, createLog('test'))
  for (let count = 0; count < 2_001; count += 1) recorder.record(answered('7001'))
  await clock.advance(10_000)
  for (let count = 0; count < 11; count += 1) recorder.record(answered('7001'))
  await recorder.stop()
  expect((await listOf('7001')).lost).toBe(2)
})

test('what cannot be stored is lost and counted, and no request notices it', async () => {
  const insert = async (): Promise<never> => {
    throw new Error('the store is away')
  }
  const exchanges = { ...collections.exchanges, insert }
  const recorder = createExchangeRecorder({ ...collections, exchanges }, createLog('test'))
  recorder.record(answered('7001'))
  await recorder.stop()
  expect(await listOf('7001')).toMatchObject({ items: [], lost: 1 })
})

// O20: a stream reads a minute back, and must not miss what nobody counted
test('what could not be stored for 20 s is lost and counted', async () => {
  const stalled = Promise.withResolvers<void>()
  const insert: (typeof collections.exchanges)['insert'] = async (exchange, options) => {
    await stalled.promise
    return collections.exchanges.insert(exchange, options)
  }
  const exchanges = { ...collections.exchanges, insert }
  const recorder = createExchangeRecorder({ ...collections, exchanges }, createLog('test'))
  recorder.record(answered('7001', { code: 9000 }))
  await clock.advance(1_000)
  recorder.record(answered('7001', { code: 6001 }))
  // Ids of earlier tests can be some seconds ahead of this clock.
  await clock.advance(60_000)
  recorder.record(answered('7001', { code: 6002 }))
  stalled.resolve()
  await recorder.stop()
  const { items, lost } = await listOf('7001')
  expect([items.map(({ code }) => code), lost]).toEqual([[6002, 9000], 1])
})

// O20
test('keeps of the reference and of a field only what is plain, and nothing of an unfinished request', async () => {
  const recorder = createExchangeRecorder(collections, createLog('test'))
  recorder.record(answered('7001', { payment: { c_id: 'order-1' }, field: 'params.payment', code: 9000 }))
  recorder.record(answered('7001', { payment: { c_id: 'a@example.com' }, field: 'params.a@example.com' }))
  const unfinished = answered('7001')
  Reflect.set(unfinished.response, 'writableEnded', false)
  recorder.record(unfinished)
  await recorder.stop()
  const { items } = await listOf('7001')
  expect(items.map(({ c_id, field }) => [c_id, field])).toEqual([
    [undefined, undefined],
    ['order-1', 'params.payment'],
  ])
})

test('an exchange is kept for 7 days', async () => {
  const recorder = createExchangeRecorder(collections, createLog('test'))
  recorder.record(answered('7001'))
  await recorder.stop()
  const day_ms = 24 * 3_600_000
  await clock.advance(7 * day_ms - 1)
  expect((await listOf('7001')).items).toHaveLength(1)
  await clock.advance(2)
  expect((await listOf('7001')).items).toEqual([])
})

test('the time of an exchange selects it, also while ids are ahead of the clock', async () => {
  const recorder = createExchangeRecorder(collections, createLog('test'))
  // More ids than a millisecond has places, so that the next ones belong to later milliseconds.
  for (let count = 0; count < 5_000; count += 1) uuidv7()
  for (let count = 0; count < 2; count += 1) recorder.record(answered('7001'))
  for (let count = 0; count < 4_096; count += 1) uuidv7()
  recorder.record(answered('7001'))
  await recorder.stop()
  const [newest, ...older] = (await listOf('7001')).items
  const query = { merchant_id: '7001', page_size: 1_000, page_token: '', created_to: newest?.answered_at }
  expect((await createExchangeReads(collections).list(query)).items).toEqual(older)
  expect(older).toHaveLength(2)
})
