import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { openTestStore } from '../../test/support/store.ts'
import { keys } from './notifier.fixture.ts'
import { operations, wakeRestored } from './operations.ts'
import { newDelivery, openPipelines, type PipelineFixture } from './pipeline/pipeline.fixture.ts'
import { DELIVERIES } from './store/deliveries.ts'
import { openNotifierStore } from './store/notifier-store.ts'

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
})
afterEach(() => fixture[Symbol.dispose]())

// O20
test('a restore brings no listener back, so that no cursor of before names a callback of after', () => {
  const restore = (collection: string) => operations.restoreDocument?.(collection, { merchant_id: '7001' })
  expect(['listeners', 'listener_deliveries'].map(restore)).toEqual([undefined, undefined])
  expect(restore('events')).toEqual({ merchant_id: '7001' })
})

test('deliveries that were restored without their destination are made after wakeRestored only', async () => {
  const { store, clock, attempts } = fixture
  for (let number = 0; number < 3; number += 1)
    await store.deliveries.insert(newDelivery(number, number === 2 ? 'two' : 'one'))
  await fixture.startProcess('one')
  await clock.advance(60_000)
  expect(attempts).toEqual([])
  await wakeRestored(store)
  await clock.advance(10_000)
  expect(attempts.map(({ delivery }) => delivery.event_key).sort()).toEqual(['p-0:3', 'p-1:3', 'p-2:3'])
})

// N5
test('a delivery that an open breaker cost its tries is made after wakeRestored too', async () => {
  const { store, clock, attempts } = fixture
  const held = { status: 'dead', try_kind: undefined, due_at: undefined, waits_since: now() } as const
  await store.deliveries.insert(newDelivery(1, 'one', held))
  await fixture.startProcess('one')
  await wakeRestored(store)
  await clock.advance(10_000)
  expect(attempts.map(({ delivery }) => delivery.event_key)).toEqual(['p-1:3'])
})

// O11: an ordered backup reads payments before, so the payment of an event can be missing.
test('what the list of erasures names is erased in events and deliveries, also without its payment', async () => {
  await using test_store = await openTestStore()
  const { events, deliveries } = await openNotifierStore(test_store.store, keys.person)
  const common = {
    environment: 'test',
    destinations: [],
    created_at: now(),
    kept_until: new Date('2099-01-01'),
  } as const
  for (const [resource_id, event] of [
    ['p-1', 'payment.created'],
    ['p-2', 'payment.created'],
    ['t-1', 'ticket.created'],
  ] as const) {
    const key = { merchant_id: '7001', event_key: `${resource_id}:1` }
    await events.insert({ ...common, ...key, event, resource_id, body: Buffer.from('of a person') })
  }
  for (const number of [1, 2, 3])
    await deliveries.insert(newDelivery(number, 'one', { resource_id: `p-${number}` }))
  const readDocuments: ReadDocuments = async function* <D extends object>({ name }: { name: string }) {
    const read =
      name === DELIVERIES.name
        ? deliveries.find('by_due', {}, { limit: 9 })
        : events.find('by_created', {}, { limit: 9 })
    yield* (await read) as unknown as readonly D[]
  }
  const listed = ['payment p-1', 'payment p-3', 'ticket t-1', 'payment t-2']
  const includes = ({ kind, id }: { kind: string; id: string }) => listed.includes(`${kind} ${id}`)
  const erase = () =>
    operations.erase?.(test_store.store, readDocuments, { count: listed.length, includes }, keys)
  expect(await erase()).toBe(4)
  const left = await events.find('by_created', {}, { limit: 9 })
  expect(left.flatMap(({ resource_id, body }) => (body === undefined ? [] : [resource_id]))).toEqual(['p-2'])
  const due = await deliveries.find('by_due', {}, { limit: 9 })
  expect(due.map(({ resource_id }) => resource_id)).toEqual(['p-2'])
})
