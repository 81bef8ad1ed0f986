import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { Delivery } from '../domain/delivery.ts'
import { newDestination } from '../domain/destination.ts'
import { newOwnedDestination, type OwnedDestination } from './owned-destination.ts'
import { newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'
import { createRequeueWaiting } from './requeue-waiting.ts'

/** What one call takes: ten batches of a hundred. */
const CALL_MAX = 1_000

let fixture: PipelineFixture
let queued: Delivery[]
let owned: OwnedDestination
let requeueWaiting: (owned: OwnedDestination) => Promise<void>

beforeEach(async () => {
  fixture = await openPipelines()
  queued = []
  const { destination_key, merchant_id } = newDelivery(0)
  const stored = { ...newDestination({ destination_key, merchant_id }), version: 1 }
  const leased_until_ms = fixture.clock.now_ms() + 60_000
  owned = newOwnedDestination(stored, 'token-1', true, leased_until_ms)
  requeueWaiting = createRequeueWaiting({
    deliveries: fixture.store.deliveries,
    hasSecret: async (delivery) => fixture.hasSecret(delivery),
    storeNow: now,
    onQueued: (_owned, delivery) => queued.push(delivery),
  })
})

afterEach(() => fixture[Symbol.dispose]())

const hold = (count: number, status: 'blocked' | 'dead'): Promise<unknown> =>
  Promise.all(
    Array.from({ length: count }, (_, number) => {
      const held = { status, try_kind: undefined, due_at: undefined, waits_since: now() } as const
      return fixture.store.deliveries.insert(newDelivery(number, 'one', held))
    }),
  )

// N5, N7
test.each(['blocked', 'dead'] as const)(
  'one call queues at most a thousand %s deliveries, and the next one the others',
  async (status) => {
    await hold(CALL_MAX + 1, status)
    await requeueWaiting(owned)
    expect(queued).toHaveLength(CALL_MAX)
    expect(owned.may_have_waiting).toBe(true)
    await requeueWaiting(owned)
    expect(new Set(queued.map(({ delivery_id }) => delivery_id)).size).toBe(CALL_MAX + 1)
    expect(owned.may_have_waiting).toBe(false)
  },
)

// N7
test('deliveries without a secret stay held, and are looked at again', async () => {
  await hold(2, 'blocked')
  fixture.hasSecret = () => false
  await requeueWaiting(owned)
  expect(queued).toEqual([])
  expect(owned.may_have_waiting).toBe(true)
  fixture.hasSecret = () => true
  await requeueWaiting(owned)
  expect(queued.map(({ status }) => status)).toEqual(['pending', 'pending'])
})

test('a store that fails leaves the look at held deliveries to the next call', async () => {
  await hold(1, 'blocked')
  const failing = createRequeueWaiting({
    deliveries: { ...fixture.store.deliveries, find: () => Promise.reject(new Error('no answer')) },
    hasSecret: async () => true,
    storeNow: now,
    onQueued: (_owned, delivery) => queued.push(delivery),
  })
  await expect(failing(owned)).rejects.toThrow('no answer')
  expect(owned.may_have_waiting).toBe(true)
})
