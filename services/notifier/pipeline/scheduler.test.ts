import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Stored } from '#lib/store/store.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import type { Delivery } from '../domain/delivery.ts'
import { newDestination } from '../domain/destination.ts'
import { newOwnedDestination, type OwnedDestination, QUEUED_MAX } from './owned-destination.ts'
import { newDelivery } from './pipeline.fixture.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { createSlots, type Slot, type SlotLimits } from './slots.ts'

let clock: InstalledClock
let scheduler: Scheduler
/** The destinations of the attempts that began, in their order, and their slots. */
let began: string[]
let slots_taken: Slot[]
/** The due deliveries in the store, and the kinds of tries that were read. */
let stored: Stored<Delivery>[]
let read_lanes: unknown[]
/** How often the scheduler has looked whether an attempt could begin. */
let looks: number

const FEW: SlotLimits = { all: 8, unproven: 8, sick: 1, retry: 8 }

beforeEach(() => {
  clock = installManualClock()
  began = []
  slots_taken = []
  stored = []
  read_lanes = []
  looks = 0
  startScheduler(FEW)
})
afterEach(() => clock[Symbol.dispose]())

/** Starts the scheduler, with these limits of each destination. */
function startScheduler(of_destination: SlotLimits): void {
  scheduler = createScheduler({
    deliveries: {
      async find(_index, range, { limit }) {
        const [, try_kind] = 'equals' in range ? range.equals : []
        read_lanes.push(try_kind)
        return stored.filter((delivery) => delivery.try_kind === try_kind).slice(0, limit)
      },
    },
    slots: createSlots({
      process: FEW,
      merchant: FEW,
      host: FEW,
      origin: of_destination,
      endpoint: of_destination,
    }),
    store_now_ms: clock.now_ms,
    hasLease({ is_open }) {
      looks += 1
      return is_open
    },
    isInProgress: () => false,
    begin(owned, _due, slot) {
      began.push(owned.destination_key)
      slots_taken.push(slot)
    },
  })
}

/** A leased destination with a number of due deliveries. */
function destinationWith(
  count: number,
  name: string,
  {
    due_in_ms = 0,
    destination_key = `endpoint:${name}`,
    ...changes
  }: Partial<Delivery> & { readonly due_in_ms?: number } = {},
): OwnedDestination {
  const stored = { ...newDestination({ destination_key, merchant_id: name }), version: 1 }
  const owned = newOwnedDestination(stored, 'token', false, 0)
  const due_at = new Date(clock.now_ms() + due_in_ms)
  for (let number = 0; number < count; number += 1)
    scheduler.add(owned, newDelivery(number, name, { due_at, merchant_id: name, ...changes }))
  return owned
}

test('destinations take turns when slots are scarce, however long the backlog of one is', async () => {
  const busy = destinationWith(100, 'busy')
  await settled()
  const others = ['a', 'b', 'c'].map((name) => destinationWith(1, name))
  for (let round = 0; round < 3; round += 1) {
    for (const slot of slots_taken.splice(0)) slot.release()
    scheduler.wake(busy)
    await settled()
  }
  expect([busy, ...others].map(({ queue }) => queue.size('first'))).toEqual([100 - 29, 0, 0, 0])
  // The others wait for one turn of the busy one at most.
  const first_after = began.slice(8, 8 + 7)
  expect(first_after.filter((key) => key !== 'endpoint:busy')).toHaveLength(3)
})

test('a slot that becomes free is used at once, and nothing begins without one', async () => {
  const busy = destinationWith(20, 'busy')
  await settled()
  expect(began).toHaveLength(8)
  slots_taken[0]?.release()
  scheduler.wake(busy)
  await settled()
  expect(began).toHaveLength(9)
})

/** Gives back the slots of the attempts in progress, one after the other, until a number of attempts has begun in all. */
async function endOneByOne(owned: OwnedDestination, began_count: number): Promise<void> {
  while (began.length < began_count) {
    const slot = slots_taken.shift()
    if (slot === undefined) throw new Error('no attempt is in progress')
    slot.release()
    scheduler.wake(owned)
    await settled()
  }
}

/** Adds destinations of the merchant `many`: with first tries and retries, with and without an earlier success. */
function addOfEachKind(place: Partial<Delivery> = {}): void {
  for (let number = 0; number < 48; number += 1) {
    const try_kind = number % 2 === 0 ? 'first' : 'retry'
    const owned = destinationWith(2, `many${number}`, { merchant_id: 'many', try_kind, ...place })
    if (number % 4 < 2) owned.breaker = { failures: 0, has_succeeded: true }
  }
}

const HOST = { url: 'https://shared.example.com/' }
test.each<[string, Partial<Delivery>]>([
  ['a process', {}],
  ['a host', HOST],
])('merchants take turns for the slots of %s, however many destinations each has', async (_scope, place) => {
  const [busy] = Array.from({ length: 50 }, (_, number) =>
    destinationWith(2, `busy${number}`, { merchant_id: 'busy', ...place }),
  )
  await settled()
  addOfEachKind(place)
  destinationWith(5, 'one', place)
  if (busy === undefined) throw new Error('there is no destination')
  await endOneByOne(busy, 8 + 15)
  const merchants = began.slice(8).map((key) => key.replace(/^endpoint:|\d/g, ''))
  for (const merchant of ['busy', 'many', 'one'])
    expect(merchants.filter((each) => each === merchant)).toHaveLength(5)
})

test('merchants take turns for slots that are free, whatever kinds of attempts each has', async () => {
  addOfEachKind()
  destinationWith(20, 'one')
  await settled()
  expect(began.filter((key) => key === 'endpoint:one')).toHaveLength(4)
})

test('a destination that begins to hang does not hold up what waited with it', async () => {
  const [slow, other] = ['slow', 'other'].map((name) =>
    destinationWith(10, name, { merchant_id: 'one', ...HOST }),
  )
  if (slow === undefined || other === undefined) throw new Error('there is no destination')
  await settled()
  expect(began.slice(-2)).toEqual(['endpoint:slow', 'endpoint:other'])
  slow.is_slow = true
  for (const [index, slot] of slots_taken.entries()) if (began[index] === 'endpoint:slow') slot.countAsSick()
  // The first of two turns goes to the other one, so that the slow one has the second turn.
  for (const slot of [slots_taken[1], slots_taken[3]]) slot?.release()
  scheduler.wake(other)
  await settled()
  expect(began.slice(8)).toEqual(['endpoint:other', 'endpoint:other'])
})

// N5 (3), N10: a merchant's deliveries to a hanging origin never delay its other ones, at the same host neither.
test.each(['origin', 'endpoint'])(
  'an %s that has taken all of its slots holds up no other one',
  async (kind) => {
    startScheduler({ ...FEW, all: 2 })
    for (const name of ['hanging', 'other']) {
      destinationWith(10, name, { destination_key: `${kind}:${name}`, merchant_id: 'one', ...HOST })
      await settled()
    }
    expect(began).toEqual([...Array(2).fill(`${kind}:hanging`), ...Array(2).fill(`${kind}:other`)])
  },
)

test.each<[string, (number: number) => Partial<Delivery>]>([
  ['its merchant', (number) => ({ merchant_id: 'one', url: `https://${number}.example.com/` })],
  ['its host', (number) => ({ merchant_id: `${number % 4}`, ...HOST })],
  ['the process', (number) => ({ merchant_id: `${number}` })],
])('a turn costs the same however many destinations wait for a slot of %s', async (_scope, place) => {
  const costs: number[] = []
  let count = 0
  for (const waiting of [100, 2_000]) {
    let owned = destinationWith(1, `${count}`, place(count))
    for (count += 1; count < waiting + 8; count += 1) owned = destinationWith(1, `${count}`, place(count))
    await settled()
    looks = 0
    await endOneByOne(owned, began.length + 20)
    costs.push(looks)
  }
  expect(costs[1]).toBe(costs[0])
})

test('first tries and retries of a destination take turns, and one kind continues alone when the other is empty', async () => {
  const owned = destinationWith(20, 'both')
  for (let number = 20; number < 24; number += 1)
    scheduler.add(owned, newDelivery(number, 'both', { try_kind: 'retry', due_at: new Date(clock.now_ms()) }))
  await settled()
  const sizes = () => [owned.queue.size('first'), owned.queue.size('retry')]
  expect(sizes()).toEqual([16, 0])
  await endOneByOne(owned, 24)
  expect(sizes()).toEqual([0, 0])
})

test('a delivery of the near future begins when it is due, and a later one is left in the store', async () => {
  destinationWith(1, 'soon', { due_in_ms: 2_000 })
  const later = destinationWith(1, 'later', { due_in_ms: 60_000 })
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
    scheduler.wake(busy)
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
