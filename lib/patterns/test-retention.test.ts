import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { readConfig } from '#lib/base/config/config.ts'
import { now } from '#lib/base/time.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import { TEST_END_INDEX, type TestDocument, withTestEnd } from '#lib/store/test-end.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import type { ClockGuard } from './clock-guard.ts'
import {
  deleteTestDocument,
  mayHaveEnded,
  startTestRetention,
  TEST_RETENTION_SETTING,
} from './test-retention.ts'

interface Order extends TestDocument {
  readonly merchant_id: string
  readonly order_id: string
  readonly is_open: boolean
}

const ORDERS = {
  name: 'orders',
  partition: ['merchant_id'],
  key: ['merchant_id', 'order_id'],
  indexes: TEST_END_INDEX,
} as const satisfies CollectionSpec

const DAY_MS = 86_400_000
const RETENTION_MS = 30 * DAY_MS
const hasEnded = ({ is_open }: Order): boolean => !is_open

let clock: InstalledClock
let opened: TestStore
let stored: Collection<Order>
let orders: Collection<Order>
beforeEach(async () => {
  clock = installManualClock()
  opened = await openTestStore()
  stored = await opened.store.collection<Order>(ORDERS)
  orders = withTestEnd(stored, hasEnded)
})
afterEach(async () => {
  await opened[Symbol.asyncDispose]()
  clock[Symbol.dispose]()
})

const orderOf = (order_id: string, changes: Partial<Order> = {}): Order => ({
  merchant_id: '7001',
  order_id,
  environment: 'test',
  is_open: false,
  ...changes,
})
const get = (order_id: string) => orders.get({ merchant_id: '7001', order_id })

/** How many documents a walk visits at once. */
const VISITORS = 4

/** Runs one walk to its end. `reads` gets what it reads. */
async function walk(retention_ms = RETENTION_MS, reads: string[] = []): Promise<void> {
  const ended = Promise.withResolvers<void>()
  let found = 0
  let asked = 0
  const collection: Collection<Order> = {
    ...orders,
    async find(index, range, options) {
      reads.push(index)
      const page = await orders.find(index, range, options)
      found = page.length
      return page
    },
    get(key, options) {
      reads.push('key')
      return orders.get(key, options)
    },
  }
  const clock_guard: ClockGuard = {
    ...trustedClock,
    // Asked before the page, before each visit, and once more by each visitor at the end.
    isTrusted() {
      asked += 1
      if (asked === 1 + found + VISITORS) ended.resolve()
      return true
    },
  }
  const walking = startTestRetention({ spec: ORDERS, collection, hasEnded }, { clock_guard, retention_ms })
  await clock.advance(60_000)
  await ended.promise
  await walking.stop()
}

// O25
test('what has ended in the test environment is deleted after its retention, and what is open is not', async () => {
  await orders.insert(orderOf('ended'))
  await orders.insert(orderOf('open', { is_open: true }))
  await orders.insert(orderOf('production', { environment: 'production' }))
  clock.stepWall(RETENTION_MS - 61_000)
  await walk()
  expect(await get('ended')).toBeDefined()
  await walk()
  expect(await get('ended')).toBeUndefined()
  expect(await get('open')).toBeDefined()
  expect(await get('production')).toBeDefined()
})

test('what an earlier release has taken for ended, and what is open by now, stays', async () => {
  await stored.insert(orderOf('open', { is_open: true, test_ended_at: now() }))
  clock.stepWall(2 * RETENTION_MS)
  await walk()
  expect(await get('open')).toBeDefined()
})

test('the retention begins again with each change', async () => {
  const { version } = await orders.insert(orderOf('changed'))
  clock.stepWall(RETENTION_MS - DAY_MS)
  await orders.replace(orderOf('changed'), version)
  clock.stepWall(2 * DAY_MS)
  await walk()
  expect(await get('changed')).toBeDefined()
  clock.stepWall(RETENTION_MS)
  await walk()
  expect(await get('changed')).toBeUndefined()
})

// O25
describe('a document of production', () => {
  test('is never deleted, whatever its fields say', async () => {
    const long_ago = new Date(0)
    for (const changes of [{}, { is_open: true }, { test_ended_at: long_ago }])
      await orders.insert(orderOf(JSON.stringify(changes), { environment: 'production', ...changes }))
    const forged = orderOf('forged', { environment: 'production', test_ended_at: long_ago })
    await stored.insert(forged)
    clock.stepWall(10 * RETENTION_MS)
    await walk()
    expect(await orders.find('key', { equals: ['7001'] }, { limit: 10 })).toHaveLength(4)
    const document = (await get('forged')) as Stored<Order>
    await expect(
      deleteTestDocument({ spec: ORDERS, collection: orders, hasEnded }, document),
    ).rejects.toThrow('a document of orders that is not of the test environment is never deleted')
  })

  test('is not in the index', async () => {
    await orders.insert(orderOf('production', { environment: 'production' }))
    await orders.insert(orderOf('test'))
    const found = await orders.find('by_test_end', {}, { limit: 10 })
    expect(found.map(({ order_id }) => order_id)).toEqual(['test'])
  })
})

test('a walk without anything to delete reads one page of its index', async () => {
  await orders.insert(orderOf('recent'))
  const reads: string[] = []
  await walk(RETENTION_MS, reads)
  expect(reads).toEqual(['by_test_end'])
})

test('without a retention nothing is read', async () => {
  let is_read = false
  const collection: Collection<Order> = {
    ...orders,
    async find() {
      is_read = true
      return []
    },
  }
  const retention = { clock_guard: trustedClock, retention_ms: undefined }
  const walking = startTestRetention({ spec: ORDERS, collection, hasEnded }, retention)
  await clock.advance(600_000)
  await walking.stop()
  expect(is_read).toBe(false)
})

describe('a document with a rest', () => {
  const rest: string[] = []
  let onRest: () => Promise<void>
  beforeEach(() => {
    rest.length = 0
    onRest = async () => {}
  })
  const end = (found: Stored<Order>) =>
    deleteTestDocument(
      {
        spec: ORDERS,
        collection: orders,
        hasEnded,
        async deleteRest({ order_id }) {
          rest.push(order_id)
          await onRest()
        },
      },
      found,
    )

  test('is deleted after it, also when the deletion of the rest failed before', async () => {
    const found = await orders.insert(orderOf('a'))
    onRest = () => Promise.reject(new Error('unavailable'))
    await expect(end(found)).rejects.toThrow('unavailable')
    expect(await get('a')).toBeDefined()
    onRest = async () => {}
    await end(found)
    expect(rest).toEqual(['a', 'a'])
    expect(await get('a')).toBeUndefined()
  })

  test('stays with its rest when it was changed since it was found, and stays when it is changed meanwhile', async () => {
    const found = await orders.insert(orderOf('a'))
    const changed = await orders.replace(orderOf('a'), found.version)
    await end(found)
    expect(rest).toEqual([])
    onRest = async () => void (await orders.replace(orderOf('a', { is_open: true }), changed.version))
    await end(changed)
    expect(rest).toEqual(['a'])
    expect(await get('a')).toMatchObject({ is_open: true })
  })
})

test('the setting is a time of at least 7 days, 90 days by default, or none', () => {
  const read = (text?: string) =>
    readConfig({ retention_ms: TEST_RETENTION_SETTING }, { MULTIHUB_TEST_RETENTION: text }).retention_ms
  expect(read()).toBe(90 * DAY_MS)
  expect(read('7d')).toBe(7 * DAY_MS)
  expect(read('none')).toBeUndefined()
  expect(() => read('6d')).toThrow('MULTIHUB_TEST_RETENTION must be a time from 7d to 36600d')
  expect(() => read('0')).toThrow('MULTIHUB_TEST_RETENTION')
})

// O25
test('a document of the test environment may be gone after 7 days, one of production never', () => {
  const daysAgo = (days: number) => new Date(now().getTime() - days * DAY_MS)
  expect(mayHaveEnded({ environment: 'test', at: daysAgo(7) })).toBe(true)
  expect(mayHaveEnded({ environment: 'test', at: daysAgo(6.9) })).toBe(false)
  expect(mayHaveEnded({ environment: 'production', at: daysAgo(4_000) })).toBe(false)
})
