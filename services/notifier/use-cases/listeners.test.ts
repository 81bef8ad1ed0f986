import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { hmacHex } from '#lib/base/crypto/hash.ts'
import { update } from '#lib/patterns/update.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { eventBytes, paymentEvent } from '../event.fixture.ts'
import { keys, openNotifier, type TestNotifier } from '../notifier.fixture.ts'
import { createListeners } from './listeners.ts'
import { receiveEvent, receiveEventByCall } from './receive-event.ts'

const MERCHANT = '7001'
const HOUR_MS = 3_600_000

let directory: string
let clock: InstalledClock
let notifiers: readonly TestNotifier[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-listeners-'))
  clock = installManualClock()
  notifiers = [await openNotifier(directory), await openNotifier(directory)]
})
afterEach(async () => {
  clock[Symbol.dispose]()
  for (const notifier of notifiers) await notifier.close()
  await rm(directory, { recursive: true, force: true })
})

const one = (): TestNotifier => notifiers[0] as TestNotifier
const happened = (name: string, notifier = one()) =>
  receiveEvent(notifier, eventBytes({ eventKey: `p:${name}` }))

/** All callbacks after a cursor, in pages. */
async function pullAll(cursor: string, page_size = 3) {
  const pulled: Awaited<ReturnType<TestNotifier['listeners']['pull']>>[number][] = []
  for (;;) {
    const page = await one().listeners.pull(MERCHANT, pulled.at(-1)?.cursor ?? cursor, page_size)
    pulled.push(...page)
    if (page.length < page_size) return pulled
  }
}
const keysOf = async (cursor: string) => (await pullAll(cursor)).map(({ delivery }) => delivery.event_key)

// O20
test('a listener gets each event of the test environment once, without any other destination', async () => {
  await happened('before')
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('a')
  await happened('a')
  await receiveEvent(one(), eventBytes({ eventKey: 'p:production', environment: Environment.PRODUCTION }))
  const ids = await receiveEventByCall(one(), paymentEvent({ eventKey: 'p:call' }))
  expect(await receiveEventByCall(one(), paymentEvent({ eventKey: 'p:call' }))).toEqual(ids)
  const pulled = await pullAll(cursor)
  expect(pulled.map(({ delivery }) => delivery.event_key)).toEqual(['p:a', 'p:call'])
  expect(ids).toEqual([pulled[1]?.delivery.delivery_id])
  // Another one who listens gets all of them too.
  expect(await keysOf(cursor)).toEqual(['p:a', 'p:call'])
})

// O20, N3
test('a callback has the stored bytes, and headers that the secret of the listener has signed', async () => {
  const { cursor, secret } = await one().listeners.open(MERCHANT)
  await happened('signed')
  const [pulled] = await pullAll(cursor)
  const { headers = {}, body = new Uint8Array(), delivery } = pulled ?? {}
  expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({ merchant_id: MERCHANT })
  const { 'X-Webhook-Timestamp': time, 'X-Webhook-Nonce': nonce, 'X-Webhook-Id': id } = headers
  const text = Buffer.concat([Buffer.from(`${time}.${nonce}.${id}.`), body])
  expect(headers['X-Webhook-Signature-V3']).toBe(hmacHex('sha512', secret, text))
  expect(id).toBe(delivery?.delivery_id)
  expect((await one().listeners.open(MERCHANT)).secret.reveal()).toBe(secret.reveal())
})

// O20
test('notifiers that store events at the same time leave no gap before a number', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  const names = Array.from({ length: 40 }, (_, index) => `${index}`)
  await Promise.all(names.map((name, index) => happened(name, notifiers[index % 2])))
  const pulled = await pullAll(cursor)
  expect(pulled.map(({ delivery }) => delivery.number)).toEqual(names.map((_, index) => index + 1))
  expect(new Set(pulled.map(({ delivery }) => delivery.event_key)).size).toBe(40)
})

// O20
test('a cursor counts for 24 hours after the last connection, and a later one is refused', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('a')
  clock.stepWall(24 * HOUR_MS - 1)
  await happened('b')
  expect(await keysOf(cursor)).toEqual(['p:a', 'p:b'])
  clock.stepWall(25 * HOUR_MS)
  await happened('lost')
  await expect(one().listeners.pull(MERCHANT, cursor, 1)).rejects.toMatchObject({ code: 9000 })
  await expect(one().listeners.pull(MERCHANT, 'x', 1)).rejects.toMatchObject({ code: 9000 })
})

test('numbers go on after all older deliveries have expired, and an old cursor is refused then', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('a')
  await happened('b')
  const [, last] = await pullAll(cursor)
  for (let hours = 0; hours < 100; hours += 20) {
    clock.stepWall(20 * HOUR_MS)
    await one().listeners.pull(MERCHANT, last?.cursor ?? '', 1)
  }
  await happened('c')
  const pulled = await pullAll(last?.cursor ?? '')
  expect(pulled.map(({ delivery }) => delivery.number)).toEqual([3])
  await expect(one().listeners.pull(MERCHANT, cursor, 1)).rejects.toMatchObject({ code: 9000 })
})

// O20: a database that lost its last writes, as a copy of its files does
test('a cursor of a lost callback is refused, also when another one has its number, and the cursor of the last one is not', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('a')
  await happened('b')
  const [first, last] = await pullAll(cursor)
  expect(await keysOf(last?.cursor ?? '')).toEqual([])
  const { listener_deliveries } = one().store
  const { listener_id = '', number = 0 } = last?.delivery ?? {}
  const stored = await listener_deliveries.get({ listener_id, number })
  await listener_deliveries.delete({ listener_id, number }, stored?.version ?? 0)
  await expect(pullAll(last?.cursor ?? '')).rejects.toMatchObject({ code: 9000 })
  expect(await keysOf(first?.cursor ?? '')).toEqual([])
  await expect(pullAll(cursor.replace(/0$/, '7'))).rejects.toMatchObject({ code: 9000 })
  await happened('c')
  await happened('d')
  await expect(pullAll(last?.cursor ?? '')).rejects.toMatchObject({ code: 9000 })
  expect(await keysOf(first?.cursor ?? '')).toEqual(['p:c', 'p:d'])
})

// O20: right after a fail-over of the database
test('a listener that has all callbacks goes on at a database that answers for a moment without the last ones', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('a')
  const [last] = await pullAll(cursor)
  const { listener_deliveries } = one().store
  const listeners = createListeners({
    ...one().store,
    keyring: keys.endpoint,
    storeNow: one().storeNow,
    listener_deliveries: {
      ...listener_deliveries,
      find: async (index, range, options) =>
        options.linearizable ? listener_deliveries.find(index, range, options) : [],
    },
  })
  expect(await listeners.pull(MERCHANT, last?.cursor ?? '', 1)).toEqual([])
})

test('a number that has been given is not given again, although its callback is gone', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('a')
  await happened('b')
  clock.stepWall(20 * HOUR_MS)
  const [, last] = await pullAll(cursor)
  const { listener_id = '', number = 0 } = last?.delivery ?? {}
  const { listener_deliveries } = one().store
  const stored = await listener_deliveries.get({ listener_id, number })
  await listener_deliveries.delete({ listener_id, number }, stored?.version ?? 0)
  await happened('c')
  expect((await pullAll(last?.cursor ?? '')).map(({ delivery }) => delivery.number)).toEqual([3])
})

test('a cursor of a new stream knows the last callback too', async () => {
  await one().listeners.open(MERCHANT)
  await happened('a')
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('b')
  expect(await keysOf(cursor)).toEqual(['p:b'])
  const [listener_id, number] = cursor.split('.')
  await expect(pullAll(`${listener_id}.${number}.000000000000`)).rejects.toMatchObject({ code: 9000 })
  // The form of the release before.
  expect(await keysOf(`${listener_id}.${number}`)).toEqual(['p:b'])
})

// O11
test('an erased event has no body and no headers', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  await happened('erased')
  await update(
    one().store.events,
    { merchant_id: MERCHANT, event_key: 'p:erased' },
    ({ body: _, ...event }) => event,
  )
  expect(await pullAll(cursor)).toMatchObject([{ body: undefined, headers: {} }])
})

test('a process whose write was lost stores the event once more, and it comes once', async () => {
  const { cursor } = await one().listeners.open(MERCHANT)
  const { listener_deliveries } = one().store
  let is_first = true
  const listeners = createListeners({
    ...one().store,
    keyring: keys.endpoint,
    storeNow: one().storeNow,
    listener_deliveries: {
      ...listener_deliveries,
      async insert(document) {
        const stored = await listener_deliveries.insert(document)
        if (!is_first) return stored
        is_first = false
        throw new Error('the answer was lost')
      },
    },
  })
  const deps = { ...one(), listeners }
  await expect(receiveEvent(deps, eventBytes({ eventKey: 'p:a' }))).rejects.toThrow('lost')
  await receiveEvent(deps, eventBytes({ eventKey: 'p:a' }))
  expect(await keysOf(cursor)).toEqual(['p:a'])
})
