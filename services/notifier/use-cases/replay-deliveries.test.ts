import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import type { Delivery } from '../domain/delivery.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
} from '../pipeline/pipeline.fixture.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import {
  type ReplayDeliveriesDeps,
  replayDeliveries,
  replayDelivery,
  runReplay,
  startReplayWalk,
} from './replay-deliveries.ts'

let fixture: PipelineFixture
let pipeline: Pipeline
let deps: ReplayDeliveriesDeps
beforeEach(async () => {
  fixture = await openPipelines()
  ;({ pipeline } = await fixture.startProcess('one'))
  const { deliveries, destinations, replays } = fixture.store
  const background = createBackgroundWork()
  deps = { pipeline, deliveries, destinations, replays, background, storeNow: now, isStopping: () => false }
})
afterEach(() => fixture[Symbol.dispose]())

/** Delivers an event to a receiver that refuses it; the delivery is dead then. */
async function newDead(number: number): Promise<Delivery> {
  const delivery = newDelivery(number, `d${number}`, { max_retries: 0 })
  fixture.respond = () => FAILED
  await pipeline.queueDelivery(delivery, BODY)
  await fixture.clock.advance(100)
  fixture.respond = () => DELIVERED
  return delivery
}

// N6
test.each([
  ['of one delivery', false],
  ['by filter', true],
])('a replay %s leaves one alone that was delivered after it was found dead', async (_name, is_by_filter) => {
  const dead = await newDead(1)
  const { deliveries } = deps
  // Another replay sends it between the read and the write of this one.
  const late_deps: ReplayDeliveriesDeps = {
    ...deps,
    deliveries: {
      ...deliveries,
      async find(...args) {
        const found = await deliveries.find(...args)
        for (const { version, ...delivery } of found)
          await deliveries.replace({ ...delivery, status: 'delivered' }, version)
        return found
      },
    },
  }
  if (is_by_filter)
    expect(
      await replayDeliveries(late_deps, { merchant_id: dead.merchant_id }, false, { is_anyway: true }),
    ).toMatchObject({
      matched: 1,
      queued: 0,
    })
  else await replayDelivery(late_deps, dead.delivery_id)
  await fixture.clock.advance(5_000)
  expect(await fixture.stored(dead)).toMatchObject({ status: 'delivered' })
  expect(fixture.attempts).toHaveLength(1)
})

// N6
test.each([
  ['of one delivery', false],
  ['by filter', true],
])('a replay %s wakes a destination that no notifier looks at any more', async (_name, is_by_filter) => {
  const dead = await newDead(1)
  await fixture.clock.advance(20_000)
  const idle = await fixture.destination(dead.destination_key)
  expect([idle?.lease, idle?.wake_at]).toEqual([undefined, undefined])
  if (is_by_filter) await replayDeliveries(deps, { merchant_id: dead.merchant_id }, false)
  else await replayDelivery(deps, dead.delivery_id)
  await fixture.clock.advance(5_000)
  expect(await fixture.stored(dead)).toMatchObject({ status: 'delivered' })
})

// N6
test('a replay by filter that is killed before it wakes what it has queued does so when it goes on', async () => {
  const dead = await newDead(1)
  await fixture.clock.advance(20_000)
  const killed_deps = { ...deps, pipeline: { wake: () => new Promise<never>(() => {}) } }
  const answer = replayDeliveries(killed_deps, { merchant_id: dead.merchant_id }, false)
  await fixture.clock.advance(2_000)
  const { replay_id } = await answer
  expect(await fixture.stored(dead)).toMatchObject({ status: 'pending' })
  const replay = await deps.replays.get({ replay_id })
  if (replay === undefined) throw new Error('the replay was not stored')
  await runReplay(deps, replay)
  expect((await deps.replays.get({ replay_id }))?.ended_at).toBeDefined()
  await fixture.clock.advance(5_000)
  expect(await fixture.stored(dead)).toMatchObject({ status: 'delivered' })
})

// N6
test('a replay by filter whose notifier is killed at any step goes on in another one, and everything is sent', async () => {
  const { deliveries, replays } = deps
  const walk = startReplayWalk(deps, trustedClock)
  let was_killed = true
  for (let step = 2; was_killed; step += 1) {
    const dead = [await newDead(step * 10), await newDead(step * 10 + 1)]
    let steps = 0
    const takeStep = async (): Promise<void> => {
      steps += 1
      if (steps >= step) await new Promise<never>(() => {})
    }
    const killed_deps: ReplayDeliveriesDeps = {
      ...deps,
      background: createBackgroundWork(),
      deliveries: {
        ...deliveries,
        get: (...args) => takeStep().then(() => deliveries.get(...args)),
        find: (...args) => takeStep().then(() => deliveries.find(...args)),
        replace: (...args) => takeStep().then(() => deliveries.replace(...args)),
      },
      replays: {
        ...replays,
        insert: (...args) => takeStep().then(() => replays.insert(...args)),
        replace: (...args) => takeStep().then(() => replays.replace(...args)),
      },
      pipeline: { wake: (waiting) => takeStep().then(() => pipeline.wake(waiting)) },
    }
    // The first step stores the replay.
    const answer = replayDeliveries(killed_deps, { merchant_id: '7001' }, false, { is_anyway: true })
    await fixture.clock.advance(45_000)
    const { replay_id } = await answer
    expect((await replays.get({ replay_id }))?.ended_at).toBeDefined()
    for (const delivery of dead) expect(await fixture.stored(delivery)).toMatchObject({ status: 'delivered' })
    was_killed = steps >= step
  }
  await walk.stop()
})

/** As many more dead deliveries to the same destination. */
async function insertMoreDead(dead: Delivery, count: number): Promise<void> {
  const { version: _, ...first } = (await fixture.stored(dead)) ?? { version: 0, ...dead }
  for (let number = 2; number <= count + 1; number += 1) {
    const { delivery_id } = newDelivery(number, 'd1')
    await deps.deliveries.insert({ ...first, delivery_id })
  }
}

// N6
test('each batch of a replay by filter begins after the last delivery of the one before', async () => {
  const dead = await newDead(1)
  await insertMoreDead(dead, 200)
  let batches = 0
  const counted_deps: ReplayDeliveriesDeps = {
    ...deps,
    isStopping: () => {
      batches += 1
      return batches > 3
    },
  }
  const { replay_id } = await replayDeliveries(counted_deps, { merchant_id: dead.merchant_id }, true)
  await deps.background.ended()
  const replay = await deps.replays.get({ replay_id })
  expect(replay).toMatchObject({ matched: 201, ended_at: expect.any(Date) })
})

// N6
test('each batch of a replay by filter postpones the time at which another notifier goes on with it', async () => {
  const dead = await newDead(1)
  const { deliveries, replays } = deps
  await insertMoreDead(dead, 100)
  const begun_ms = fixture.clock.now_ms()
  let is_first = true
  const slow_deps: ReplayDeliveriesDeps = {
    ...deps,
    deliveries: {
      ...deliveries,
      async find(...args) {
        if (is_first) await fixture.clock.advance(20_000)
        is_first = false
        return deliveries.find(...args)
      },
    },
    isStopping: () => !is_first,
  }
  const { replay_id } = await replayDeliveries(slow_deps, { merchant_id: dead.merchant_id }, true)
  await deps.background.ended()
  const replay = await replays.get({ replay_id })
  expect(replay).toMatchObject({ matched: 100, wake_at: new Date(begun_ms + 50_000) })
  expect(replay?.ended_at).toBeUndefined()
})

// N6
test('a replay by filter ends: what is created after its request is not selected', async () => {
  const { merchant_id } = await newDead(1)
  const { replays } = deps
  let late: Delivery | undefined
  const slow_deps: ReplayDeliveriesDeps = {
    ...deps,
    replays: {
      ...replays,
      async insert(...args) {
        const replay = await replays.insert(...args)
        late = await newDead(2)
        return replay
      },
    },
  }
  expect(await replayDeliveries(slow_deps, { merchant_id }, false)).toMatchObject({ matched: 1, queued: 1 })
  await fixture.clock.advance(5_000)
  if (late === undefined) throw new Error('the replay was not stored')
  expect(await fixture.stored(late)).toMatchObject({ status: 'dead' })
})

/** Five dead deliveries at one destination, whose breaker they have opened. */
async function openBreaker(name: string): Promise<readonly Delivery[]> {
  fixture.respond = () => FAILED
  const all = [1, 2, 3, 4, 5].map((number) => newDelivery(number, name, { max_retries: 0 }))
  for (const delivery of all) {
    await pipeline.queueDelivery(delivery, BODY)
    await fixture.clock.advance(100)
  }
  return all
}

// N5, N6
test.each([
  ['of one delivery', false],
  ['by filter', true],
])(
  'a replay %s is refused while the breaker is open, names the destination, and queues when told to',
  async (_name, is_by_filter) => {
    const [dead] = await openBreaker('open')
    if (dead === undefined) throw new Error('there is no delivery')
    const replay = (anyway: boolean): Promise<unknown> =>
      is_by_filter
        ? replayDeliveries(deps, { merchant_id: dead.merchant_id }, false, { is_anyway: anyway })
        : replayDelivery(deps, dead.delivery_id, { is_anyway: anyway })
    await expect(replay(false)).rejects.toMatchObject({
      code: 8801,
      details: { reason: expect.stringContaining('endpoint:open') },
    })
    const statusOf = async () => (await fixture.stored(dead))?.status
    expect(await statusOf()).toBe('dead')
    await replay(true)
    expect(await statusOf()).toBe('pending')
  },
)

// N6
test('a replay by filter skips later deliveries whose breaker is open', async () => {
  fixture.respond = () => FAILED
  for (let number = 1; number <= 100; number += 1)
    await pipeline.queueDelivery(newDelivery(number, `d${number}`, { max_retries: 0 }), BODY)
  await fixture.clock.advance(1_000)
  for (let number = 101; number <= 105; number += 1) {
    await pipeline.queueDelivery(newDelivery(number, 'sick', { max_retries: 0 }), BODY)
    await fixture.clock.advance(100)
  }
  fixture.respond = () => DELIVERED
  const { replay_id } = await replayDeliveries(deps, { merchant_id: '7001' }, false)
  await fixture.clock.advance(1_000)
  expect(await deps.replays.get({ replay_id })).toMatchObject({ matched: 105, queued: 100, skipped: 5 })
})
