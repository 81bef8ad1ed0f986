import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createSwitchedClockGuard } from '../../../test/support/clock-guard.ts'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
} from './pipeline.fixture.ts'

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
})
afterEach(() => fixture[Symbol.dispose]())

const advance = (ms: number): Promise<void> => fixture.clock.advance(ms)
const processesOf = ({ delivery_id }: Delivery): readonly string[] =>
  fixture.attempts
    .filter(({ delivery }) => delivery.delivery_id === delivery_id)
    .map(({ process }) => process)

test.each([
  ['first', 100],
  ['renewed', 2_000],
])(
  'no attempt begins in the last half second of a %s lease, which the next owner may already see as its end',
  async (_name, age_ms) => {
    const one = await fixture.startProcess('one')
    // An attempt in progress keeps the destination here.
    fixture.respond = ({ delivery }) => (delivery.event_key === 'p-0:3' ? new Promise(() => {}) : DELIVERED)
    await one.pipeline.queueDelivery(newDelivery(0), BODY)
    await advance(age_ms)
    const until_ms = (await fixture.destination('endpoint:one'))?.lease?.until.getTime() ?? 0
    // No renewal of the lease arrives.
    one.onCommand = ({ collection }) => (collection === 'destinations' ? new Promise(() => {}) : undefined)
    const [early, late] = [newDelivery(1), newDelivery(2)]
    await advance(until_ms - 600 - fixture.clock.now_ms())
    await one.pipeline.queueDelivery(early, BODY)
    await advance(200)
    void one.pipeline.queueDelivery(late, BODY)
    await advance(10)
    expect(fixture.clock.now_ms()).toBeLessThan(until_ms)
    expect(await fixture.stored(late)).toMatchObject({ status: 'pending' })
    expect([processesOf(early), processesOf(late)]).toEqual([['one'], []])
    one.kill()
    await fixture.startProcess('two')
    await advance(8_000)
    expect(processesOf(late)).toEqual(['two'])
  },
)

test('a renewal that arrives after another notifier has leased the destination does not take it back', async () => {
  const one = await fixture.startProcess('one')
  // Attempts in progress keep the destination.
  fixture.respond = () => new Promise(() => {})
  const delivery = newDelivery(0)
  await one.pipeline.queueDelivery(delivery, BODY)
  const { promise: network, resolve: mendNetwork } = Promise.withResolvers<void>()
  one.onCommand = ({ collection }) => (collection === 'destinations' ? network : undefined)
  await fixture.startProcess('two')
  const before = await fixture.destination('endpoint:one')
  await advance(16_000)
  const taken = await fixture.destination('endpoint:one')
  expect(taken?.lease?.token).not.toBe(before?.lease?.token)
  mendNetwork()
  await advance(1)
  const after = await fixture.destination('endpoint:one')
  expect(after?.lease?.token).toBe(taken?.lease?.token)
  expect(processesOf(delivery)).toEqual(['one', 'two'])
})

test('a destination whose own notifier has no room for it is taken by another one after 10 s', async () => {
  const full = await fixture.startProcess('full', { owned_max: 1 })
  fixture.respond = ({ process }) => (process === 'full' ? new Promise(() => {}) : DELIVERED)
  await full.pipeline.queueDelivery(newDelivery(0, 'hang'), BODY)
  await advance(5_000)
  const other = await fixture.startProcess('other')
  await advance(1_000)
  const deliveries = Array.from({ length: 20 }, (_, number) => newDelivery(10 + number, `d${number}`))
  for (const delivery of deliveries) await other.pipeline.queueDelivery(delivery, BODY)
  await advance(9_000)
  const waiting = deliveries.filter((delivery) => processesOf(delivery).length === 0)
  expect(waiting.length).toBeGreaterThan(3)
  await advance(3_000)
  for (const delivery of deliveries) expect(processesOf(delivery)).toEqual(['other'])
})

test('a notifier that paused for longer than its lease leaves the destination to the one that has it now', async () => {
  const one = await fixture.startProcess('one')
  fixture.respond = () => new Promise(() => {})
  await one.pipeline.queueDelivery(newDelivery(1), BODY)
  await advance(10)
  const back = Promise.withResolvers<undefined>()
  one.onCommand = () => back.promise
  await advance(8_000)
  await fixture.startProcess('two')
  await advance(3_000)
  const late = newDelivery(2)
  const before = await fixture.destination('endpoint:one')
  expect(processesOf(newDelivery(1))).toEqual(['one', 'two'])
  one.onCommand = () => undefined
  back.resolve(undefined)
  await advance(1_000)
  void one.pipeline.queueDelivery(late, BODY)
  await advance(2_000)
  expect((await fixture.destination('endpoint:one'))?.lease?.token).toBe(before?.lease?.token)
  expect(processesOf(late)).toEqual(['two'])
})

test('a delivery that an owner stores after its lease has ended is delivered, although the next owner had found nothing', async () => {
  const one = await fixture.startProcess('one')
  await one.pipeline.queueDelivery(newDelivery(1), BODY)
  await advance(10)
  const back = Promise.withResolvers<undefined>()
  one.onCommand = () => back.promise
  const late = newDelivery(2)
  const queued = one.pipeline.queueDelivery(late, BODY)
  await fixture.startProcess('two')
  await advance(30_000)
  const given_back = await fixture.destination('endpoint:one')
  expect([given_back?.lease, given_back?.wake_at]).toEqual([undefined, undefined])
  one.onCommand = () => undefined
  back.resolve(undefined)
  await queued
  await advance(2_000)
  expect(await fixture.stored(late)).toMatchObject({ status: 'delivered' })
  expect(processesOf(late)).toHaveLength(1)
})

test('a notifier that stops leases nothing more, so that what it still stores is delivered by the next one at once', async () => {
  const one = await fixture.startProcess('one')
  const { promise, resolve } = Promise.withResolvers<AttemptOutcome>()
  fixture.respond = ({ delivery }) => (delivery.endpoint_id === 'hang' ? promise : DELIVERED)
  await one.pipeline.queueDelivery(newDelivery(1, 'hang'), BODY)
  await advance(10)
  const stopped = one.stop()
  const late = newDelivery(1, 'late')
  await one.pipeline.queueDelivery(late, BODY)
  await advance(10)
  expect((await fixture.destination('endpoint:late'))?.lease).toBeUndefined()
  resolve(DELIVERED)
  await stopped
  await fixture.startProcess('two')
  await advance(500)
  expect(processesOf(late)).toEqual(['two'])
})

// R8
describe('a notifier whose clock is not trusted', () => {
  const clock_guard = createSwitchedClockGuard()
  beforeEach(() => clock_guard.setTrusted(true))

  test('accepts no delivery', async () => {
    const { pipeline } = await fixture.startProcess('one', { clock_guard })
    clock_guard.setTrusted(false)
    const delivery = newDelivery(1)
    await expect(pipeline.queueDelivery(delivery, BODY)).rejects.toThrow(Unavailable)
    expect(await fixture.stored(delivery)).toBeUndefined()
  })

  test('makes no attempt of what it has leased, until another one takes over', async () => {
    const { pipeline } = await fixture.startProcess('one', { clock_guard })
    fixture.respond = () => FAILED
    const delivery = newDelivery(1)
    await pipeline.queueDelivery(delivery, BODY)
    await advance(500)
    expect(await fixture.stored(delivery)).toMatchObject({ status: 'pending', try_kind: 'retry' })
    clock_guard.setTrusted(false)
    fixture.respond = () => DELIVERED
    await advance(3_000)
    expect(processesOf(delivery)).toEqual(['one'])
    await fixture.startProcess('two')
    await advance(4_000)
    expect(processesOf(delivery)).toEqual(['one', 'two'])
  })

  test('leases nothing, also when another one that has not noticed wakes it', async () => {
    await fixture.startProcess('one', { clock_guard })
    const two = await fixture.startProcess('two')
    await advance(1_000)
    clock_guard.setTrusted(false)
    const deliveries = Array.from({ length: 20 }, (_, number) => newDelivery(number, `d${number}`))
    for (const delivery of deliveries) await two.pipeline.queueDelivery(delivery, BODY)
    await advance(10)
    const waiting = deliveries.filter((delivery) => processesOf(delivery).length === 0)
    expect(waiting.length).toBeGreaterThan(3)
    for (const { destination_key } of waiting)
      expect((await fixture.destination(destination_key))?.lease).toBeUndefined()
    await advance(3_000)
    for (const delivery of deliveries) expect(processesOf(delivery)).toEqual(['two'])
  })
})
