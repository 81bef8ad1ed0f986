import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { operations, wakeRestored } from './operations.ts'
import { newDelivery, openPipelines, type PipelineFixture } from './pipeline/pipeline.fixture.ts'

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
