import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import { requeueDead } from '../use-cases/replay-deliveries.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
  type TestProcess,
} from './pipeline.fixture.ts'

const KEPT_MS = 60_000

let fixture: PipelineFixture
let notifier: TestProcess
beforeEach(async () => {
  fixture = await openPipelines()
  notifier = await fixture.startProcess('one')
})
afterEach(() => fixture[Symbol.dispose]())

/** Queues a delivery that the store deletes a minute later. */
async function queue(changes: Partial<Delivery> = {}): Promise<Delivery> {
  const kept_until = new Date(fixture.clock.now_ms() + KEPT_MS)
  const delivery = newDelivery(1, 'one', { kept_until, ...changes })
  await notifier.pipeline.queueDelivery(delivery, BODY)
  return delivery
}

/** Nothing is left of the delivery, and its destination is neither leased nor awake, so that the store deletes it. */
async function expectNothingLeft(delivery: Delivery): Promise<void> {
  expect(await fixture.stored(delivery)).toBeUndefined()
  const destination = await fixture.destination(delivery.destination_key)
  expect(destination).toMatchObject({ expires_at: expect.any(Date) })
  expect([destination?.lease, destination?.wake_at]).toEqual([undefined, undefined])
}

test('a delivery that is deleted while it waits for its next attempt leaves nothing behind', async () => {
  fixture.respond = () => ({ kind: 'postponed', wait_ms: 2 * KEPT_MS })
  const delivery = await queue()
  await fixture.clock.advance(3 * KEPT_MS)
  expect(fixture.attempts).toHaveLength(1)
  await expectNothingLeft(delivery)
})

test.each<[string, Partial<Delivery>]>([
  ['a secret', {}],
  ['its breaker', { max_retries: 0 }],
])('a delivery that is deleted while it is held for %s leaves nothing behind', async (_name, changes) => {
  fixture.hasSecret = () => changes.max_retries === 0
  fixture.respond = () => FAILED
  if (changes.max_retries === 0)
    for (let number = 2; number < 7; number += 1) {
      const kept_until = new Date(fixture.clock.now_ms() + KEPT_MS)
      await notifier.pipeline.queueDelivery(newDelivery(number, 'one', { kept_until, ...changes }), BODY)
      await fixture.clock.advance(5)
    }
  const delivery = await queue(changes)
  await fixture.clock.advance(1_000)
  expect(await fixture.stored(delivery)).toMatchObject({ waits_since: expect.any(Date) })
  await fixture.clock.advance(3 * KEPT_MS)
  await expectNothingLeft(delivery)
})

test('an attempt whose delivery is deleted meanwhile gives its slot back', async () => {
  const { promise, resolve } = Promise.withResolvers<AttemptOutcome>()
  fixture.respond = () => promise
  const delivery = await queue()
  await fixture.clock.advance(KEPT_MS + 1_000)
  resolve(DELIVERED)
  await fixture.clock.advance(30_000)
  await expectNothingLeft(delivery)
})

test('a replay of a delivery that is deleted at that moment queues nothing', async () => {
  fixture.respond = () => FAILED
  const delivery = await queue({ max_retries: 0 })
  await fixture.clock.advance(30_000)
  const dead = await fixture.stored(delivery)
  if (dead?.status !== 'dead') throw new Error('the delivery is not dead')
  const deps = { deliveries: fixture.store.deliveries, storeNow: () => new Date(fixture.clock.now_ms()) }
  await fixture.clock.advance(KEPT_MS)
  expect(await requeueDead(deps, dead)).toBeUndefined()
  await notifier.pipeline.wake(dead)
  await fixture.clock.advance(30_000)
  expect(fixture.attempts).toHaveLength(1)
  await expectNothingLeft(delivery)
})
