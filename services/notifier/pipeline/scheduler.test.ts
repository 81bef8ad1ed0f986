import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Stored } from '#lib/platform/store/store.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import type { Delivery } from '../domain/delivery.ts'
import { newDestination } from '../domain/destination.ts'
import { QUEUED_MAX } from './due-queue.ts'
import { newOwnedDestination, type OwnedDestination } from './owned-destination.ts'
import { newDelivery } from './pipeline.fixture.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { createSlots, type Slot } from './slots.ts'

let clock: InstalledClock
let scheduler: Scheduler
/** The destinations of the attempts that began, in their order, and their slots. */
let began: string[]
let slots_taken: Slot[]
/** The due deliveries in the store, and the lanes that were read. */
let stored: Stored<Delivery>[]
let read_lanes: unknown[]

beforeEach(() => {
  clock = installManualClock()
  began = []
  slots_taken = []
  stored = []
  read_lanes = []
  const few = { max: 8, sick_max: 8, retry_max: 8 }
  scheduler = createScheduler({
    deliveries: {
      async find(_index, { equals: [, lane] = [] }, { limit }) {
        read_lanes.push(lane)
        return stored.filter((delivery) => delivery.lane === lane).slice(0, limit)
      },
    },
    slots: createSlots({ process: few, merchant: few, host: few, destination: few }),
    store_now_ms: clock.now_ms,
    hasLease: ({ is_open }) => is_open,
    isInProgress: () => false,
    begin(owned, _due, slot) {
      began.push(owned.destination_key)
      slots_taken.push(slot)
    },
  })
})
afterEach(() => clock[Symbol.dispose]())

/** A leased destination with a number of due deliveries. */
function destinationWith(count: number, name: string, due_in_ms = 0): OwnedDestination {
  const stored = { ...newDestination({ destination_key: `endpoint:${name}` }), version: 1 }
  const owned = newOwnedDestination(stored, 'token', false, { leased_until_ms: 0, reviewed_at_ms: 0 })
  const due_at = new Date(clock.now_ms() + due_in_ms)
  for (let number = 0; number < count; number += 1)
    scheduler.add(owned, newDelivery(number, name, { due_at, merchant_id: name }))
  return owned
}

test('destinations take turns when slots are scarce, however long the backlog of one is', async () => {
  const busy = destinationWith(100, 'busy')
  await settled()
  const others = ['a', 'b', 'c'].map((name) => destinationWith(1, name))
  for (let round = 0; round < 3; round += 1) {
    for (const slot of slots_taken.splice(0)) slot.release()
    scheduler.wake()
    await settled()
  }
  expect([busy, ...others].map(({ queue }) => queue.size('first'))).toEqual([100 - 29, 0, 0, 0])
  // The others wait for one turn of the busy one at most.
  const first_after = began.slice(8, 8 + 7)
  expect(first_after.filter((key) => key !== 'endpoint:busy')).toHaveLength(3)
})

test('a slot that becomes free is used at once, and nothing begins without one', async () => {
  destinationWith(20, 'busy')
  await settled()
  expect(began).toHaveLength(8)
  slots_taken[0]?.release()
  scheduler.wake()
  await settled()
  expect(began).toHaveLength(9)
})

test('a delivery of the near future begins when it is due, and a later one is left in the store', async () => {
  destinationWith(1, 'soon', 2_000)
  const later = destinationWith(1, 'later', 60_000)
  await clock.advance(1_999)
  expect(began).toEqual([])
  await clock.advance(1)
  expect(began).toEqual(['endpoint:soon'])
  expect(later.queue.size('first')).toBe(0)
})

test('a look at the store reads nothing while enough of a longer backlog is queued', async () => {
  stored = Array.from({ length: 300 }, (_, number) => ({ ...newDelivery(number, 'busy'), version: 1 }))
  const busy = destinationWith(0, 'busy')
  await scheduler.refill(busy)
  await settled()
  expect(read_lanes.splice(0)).toEqual(['first', 'retry'])
  expect(busy.queue.size('first')).toBe(QUEUED_MAX - 8)
  await scheduler.refill(busy)
  expect(read_lanes.splice(0)).toEqual(['retry'])
  stored.splice(0, QUEUED_MAX)
  while (began.length < QUEUED_MAX) {
    for (const slot of slots_taken.splice(0)) slot.release()
    scheduler.wake()
    await settled()
  }
  expect(read_lanes).toContain('first')
  expect(busy.queue.size('first')).toBeGreaterThan(0)
})

test('a destination that is handed over begins nothing', async () => {
  const owned = destinationWith(2, 'gone')
  owned.is_open = false
  await settled()
  expect(began).toEqual([])
})
