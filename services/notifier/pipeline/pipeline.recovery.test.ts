import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import type { Delivery } from '../domain/delivery.ts'
import { destinationKeyOf } from '../domain/destination.ts'
import { replayDeliveries, replayDelivery } from '../use-cases/replay-deliveries.ts'
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
const read = async (delivery: Delivery): Promise<Delivery> => {
  const stored = await fixture.stored(delivery)
  if (stored === undefined) throw new Error('the delivery does not exist')
  return stored
}
const failuresOf = async (delivery: Delivery) =>
  (await read(delivery)).attempts.map(({ failure }) => failure ?? 'delivered')
const requestsSince = (at_ms: number) => fixture.attempts.filter((seen) => seen.at_ms >= at_ms)

// N5
describe('the breaker of a destination', () => {
  /** Lets deliveries to a destination fail until its breaker is open; returns the last of them. */
  async function openBreaker(
    pipeline: { queueDelivery(delivery: Delivery, body: Uint8Array): Promise<void> },
    max_retries = 10,
  ) {
    fixture.respond = () => FAILED
    for (let number = 0; number < 5; number += 1) {
      await pipeline.queueDelivery(
        newDelivery(number, 'one', { max_retries, retry_delay_seconds: 3_600 }),
        BODY,
      )
      await advance(5)
    }
    expect((await fixture.destination('endpoint:one'))?.breaker).toMatchObject({ failures: 5 })
  }

  test('refuses tries without a request while it is open: they count, and the delivery is held when it has none left', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline)
    const opened_ms = fixture.clock.now_ms()
    const delivery = newDelivery(10)
    await pipeline.queueDelivery(delivery, BODY)
    await advance(25_000)
    expect(requestsSince(opened_ms)).toEqual([])
    expect(await failuresOf(delivery)).toEqual(Array.from({ length: 4 }, () => 'breaker_open'))
    expect(await read(delivery)).toMatchObject({ status: 'dead', waits_since: expect.any(Date) })
  })

  test('lets one probe through after 30 s and, when that fails, the next one 60 s later', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline)
    const opened_ms = fixture.clock.now_ms()
    for (let number = 10; number < 20; number += 1) await pipeline.queueDelivery(newDelivery(number), BODY)
    await advance(29_900)
    expect(requestsSince(opened_ms)).toHaveLength(0)
    await advance(3_000)
    expect(requestsSince(opened_ms)).toHaveLength(1)
    await advance(57_000)
    expect(requestsSince(opened_ms)).toHaveLength(1)
    await advance(5_000)
    expect(requestsSince(opened_ms)).toHaveLength(2)
  })

  test('makes no second request while its probe is in progress', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline)
    await advance(29_000)
    const probed_ms = fixture.clock.now_ms()
    fixture.respond = () => new Promise(() => {})
    for (let number = 10; number < 30; number += 1) await pipeline.queueDelivery(newDelivery(number), BODY)
    await advance(10_000)
    expect(requestsSince(probed_ms)).toHaveLength(1)
  })

  test('queues what it cost its tries again when it closes, under the old ids and with fresh tries', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline)
    const lost = Array.from({ length: 250 }, (_, number) => newDelivery(10 + number))
    for (const delivery of lost) await pipeline.queueDelivery(delivery, BODY)
    await advance(20_000)
    fixture.respond = () => DELIVERED
    await advance(20_000)
    for (const delivery of lost) {
      expect(await read(delivery)).toMatchObject({ status: 'delivered', delivery_id: delivery.delivery_id })
    }
    expect((await fixture.destination('endpoint:one'))?.breaker).toEqual({ failures: 0, has_succeeded: true })
  })

  test('queues what was lost again while its destination stays in use', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline)
    const lost = newDelivery(10, 'one', { max_retries: 0 })
    await pipeline.queueDelivery(lost, BODY)
    await advance(100)
    expect(await read(lost)).toMatchObject({ status: 'dead', waits_since: expect.any(Date) })
    fixture.respond = () => DELIVERED
    for (let number = 20; number < 60; number += 1) {
      await pipeline.queueDelivery(newDelivery(number, 'one', { max_retries: 10 }), BODY)
      await advance(1_000)
    }
    expect(await read(lost)).toMatchObject({ status: 'delivered' })
  })

  test('queues what was lost again also when an outage hid that it was held, while its destination stays in use', async () => {
    const one = await fixture.startProcess('one')
    await openBreaker(one.pipeline)
    await advance(29_500)
    const lost = newDelivery(10, 'one', { max_retries: 1 })
    await one.pipeline.queueDelivery(lost, BODY)
    // Its first try is refused and its last one is the probe, after which the breaker cannot be stored.
    fixture.respond = () => {
      one.onCommand = ({ kind, collection }) => {
        if (kind !== 'replace' || collection !== 'destinations') return undefined
        one.onCommand = () => undefined
        return Promise.reject(new Unavailable('the store is unavailable'))
      }
      return FAILED
    }
    await advance(1_500)
    expect(await failuresOf(lost)).toEqual(['breaker_open', 'http_status'])
    fixture.respond = () => DELIVERED
    // Nothing here is held, and the destination is never given back.
    for (let number = 20; number < 90; number += 1) {
      const busy = newDelivery(number, 'one', { max_retries: 10, retry_delay_seconds: 3_600 })
      await one.pipeline.queueDelivery(busy, BODY)
      await advance(1_000)
    }
    expect(await read(lost)).toMatchObject({ status: 'delivered' })
  })

  test('leaves one alone that a replay delivers while it is being queued again', async () => {
    const one = await fixture.startProcess('one')
    // No retry of these comes due meanwhile.
    await openBreaker(one.pipeline, 0)
    const opened_ms = fixture.clock.now_ms()
    const lost = newDelivery(10)
    await one.pipeline.queueDelivery(lost, BODY)
    await advance(25_000)
    expect(await read(lost)).toMatchObject({ status: 'dead', waits_since: expect.any(Date) })
    // Between the read of what is held and its write.
    one.onCommand = async ({ kind, collection }) => {
      const current = await fixture.stored(lost)
      if (kind !== 'get' || collection !== 'deliveries' || current?.status !== 'dead') return
      const { version, ...dead } = current
      await fixture.store.deliveries.replace(
        { ...dead, status: 'delivered', waits_since: undefined },
        version,
      )
    }
    await advance(60_000)
    expect((await read(lost)).status).toBe('delivered')
    expect(requestsSince(opened_ms)).toEqual([])
  })

  test('is that of all notifiers: the next owner of the destination keeps it open and queues what was lost', async () => {
    const one = await fixture.startProcess('one')
    await openBreaker(one.pipeline)
    const delivery = newDelivery(10)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(10_000)
    one.kill()
    const killed_ms = fixture.clock.now_ms()
    const two = await fixture.startProcess('two')
    await advance(8_000)
    const late = newDelivery(11)
    await two.pipeline.queueDelivery(late, BODY)
    await advance(2_000)
    expect(requestsSince(killed_ms)).toEqual([])
    expect((await failuresOf(late))[0]).toBe('breaker_open')
    fixture.respond = () => DELIVERED
    await advance(30_000)
    expect([(await read(delivery)).status, (await read(late)).status]).toEqual(['delivered', 'delivered'])
  })

  test('keeps the pause that a failed probe has doubled, also when its notifier is killed right after it', async () => {
    const one = await fixture.startProcess('one')
    await openBreaker(one.pipeline, 0)
    const opened_ms = fixture.clock.now_ms()
    await one.pipeline.queueDelivery(newDelivery(10, 'one', { max_retries: 0 }), BODY)
    while (requestsSince(opened_ms).length === 0) await advance(50)
    // The probe has ended, and no renewal of the lease has followed.
    await advance(50)
    one.kill()
    const killed_ms = fixture.clock.now_ms()
    await fixture.startProcess('two')
    await advance(55_000)
    expect(requestsSince(killed_ms)).toEqual([])
    await advance(10_000)
    expect(requestsSince(killed_ms)).toHaveLength(1)
  })

  test('queues what was lost again also when its notifier is killed while it closes', async () => {
    const one = await fixture.startProcess('one')
    await openBreaker(one.pipeline)
    const lost = Array.from({ length: 150 }, (_, number) => newDelivery(10 + number))
    for (const delivery of lost) await one.pipeline.queueDelivery(delivery, BODY)
    await advance(20_000)
    let queued = 0
    fixture.respond = () => DELIVERED
    one.onCommand = ({ kind, collection }) => {
      if (kind === 'replace' && collection === 'deliveries') queued += 1
      if (queued === 60) one.kill()
      return undefined
    }
    await advance(15_000)
    expect(queued).toBeGreaterThanOrEqual(60)
    await fixture.startProcess('two')
    await advance(30_000)
    for (const delivery of lost) expect((await read(delivery)).status).toBe('delivered')
  })

  test('probes with a delivery for a day only, and is forgotten a day after nothing waits any more', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline, 0)
    const delivery = newDelivery(10, 'one', { max_retries: 0 })
    await pipeline.queueDelivery(delivery, BODY)
    await advance(40_000)
    expect(await read(delivery)).toMatchObject({
      status: 'dead',
      waits_since: expect.any(Date),
      attempts: [{}, {}],
    })
    fixture.clock.stepWall(86_400_000)
    await advance(30_000)
    expect(await read(delivery)).toMatchObject({ status: 'dead', attempts: [{}, {}, {}] })
    expect((await read(delivery)).waits_since).toBeUndefined()
    const destination = await fixture.destination('endpoint:one')
    expect(destination?.breaker.opened_at).toBeInstanceOf(Date)
    expect(destination?.wake_at).toBeUndefined()
    expect(destination?.expires_at).toBeInstanceOf(Date)
  })

  // N5 (3)
  test('of an origin stays closed while one of its URLs answers 500, and opens for several, then delivers all', async () => {
    const { pipeline } = await fixture.startProcess('one')
    const queue = async (order: number, changes: Partial<Delivery> = {}): Promise<Delivery> => {
      const url = `https://shop.example.com/callbacks?order=${order}`
      const destination_key = destinationKeyOf('7001', 'test', { url })
      const delivery = newDelivery(order, destination_key, { ...changes, url, destination_key })
      await pipeline.queueDelivery(delivery, BODY)
      await advance(5)
      return delivery
    }
    await queue(1)
    fixture.respond = ({ delivery }) => (delivery.url.endsWith('=2') ? FAILED : DELIVERED)
    const broken = await queue(2, { max_retries: 10 })
    await advance(60_000)
    expect((await failuresOf(broken)).length).toBeGreaterThan(5)
    expect(await failuresOf(await queue(3))).toEqual(['delivered'])

    fixture.respond = () => FAILED
    for (let order = 10; order < 15; order += 1) await queue(order, { retry_delay_seconds: 3_600 })
    const lost = await queue(20, { max_retries: 0 })
    expect(await failuresOf(lost)).toEqual(['breaker_open'])
    fixture.respond = () => DELIVERED
    await advance(40_000)
    expect(await read(lost)).toMatchObject({ status: 'delivered', delivery_id: lost.delivery_id })
  })

  test('of a webhook_url or endpoint says nothing about others', async () => {
    const { pipeline } = await fixture.startProcess('one')
    await openBreaker(pipeline)
    fixture.respond = () => DELIVERED
    const other = newDelivery(1, 'two')
    await pipeline.queueDelivery(other, BODY)
    await advance(100)
    expect((await read(other)).status).toBe('delivered')
  })
})

// N7
describe('a delivery without a secret', () => {
  test('that has failed before keeps the tries that are left', async () => {
    const { pipeline } = await fixture.startProcess('one')
    fixture.respond = () => FAILED
    const delivery = newDelivery(1, 'one', { max_retries: 1 })
    await pipeline.queueDelivery(delivery, BODY)
    await advance(500)
    fixture.hasSecret = () => false
    await advance(5_000)
    expect((await read(delivery)).status).toBe('blocked')
    fixture.hasSecret = () => true
    await advance(20_000)
    expect((await read(delivery)).status).toBe('dead')
    expect(fixture.attempts).toHaveLength(2)
  })

  test('is blocked, uses up no tries, and goes on when a secret was issued, also after a restart', async () => {
    const one = await fixture.startProcess('one')
    fixture.hasSecret = () => false
    const delivery = newDelivery(1)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(60_000)
    expect(await read(delivery)).toMatchObject({ status: 'blocked', attempts: [], tries: 0 })
    one.kill()
    await fixture.startProcess('two')
    await advance(60_000)
    expect((await read(delivery)).status).toBe('blocked')
    fixture.hasSecret = () => true
    await advance(12_000)
    expect(await read(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] })
  })

  test('has its destination leased only every 10 s while it waits', async () => {
    const one = await fixture.startProcess('one')
    fixture.hasSecret = () => false
    await one.pipeline.queueDelivery(newDelivery(1), BODY)
    await advance(20_000)
    one.writes.length = 0
    await advance(100_000)
    expect(one.writes.filter((write) => write.endsWith('destinations')).length).toBeLessThan(60)
    expect(one.writes).not.toContain('replace deliveries')
  })
})

// N7
test('an attempt that this system could not make is postponed and not counted', async () => {
  const { pipeline } = await fixture.startProcess('one')
  fixture.respond = () => ({ kind: 'postponed', wait_ms: 10_000 })
  const delivery = newDelivery(1)
  await pipeline.queueDelivery(delivery, BODY)
  await advance(9_000)
  expect(fixture.attempts).toHaveLength(1)
  expect(await read(delivery)).toMatchObject({ status: 'pending', attempts: [], tries: 0 })
  fixture.respond = () => DELIVERED
  await advance(2_000)
  expect(await read(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] })
})

// N6
test.each([
  ['of one delivery', false],
  ['by filter', true],
])(
  'a replay %s wakes its destination, which no notifier has leased any more',
  async (_name, is_by_filter) => {
    const { pipeline } = await fixture.startProcess('one')
    fixture.respond = () => FAILED
    const dead = newDelivery(1, 'one', { max_retries: 0 })
    await pipeline.queueDelivery(dead, BODY)
    await advance(10_000)
    const destination = await fixture.destination('endpoint:one')
    expect(destination?.lease ?? destination?.wake_at).toBeUndefined()
    expect((await read(dead)).status).toBe('dead')
    fixture.respond = () => DELIVERED
    const background = createBackgroundWork()
    const deps = { ...fixture.store, pipeline, background, storeNow: now, isStopping: () => false }
    if (is_by_filter) await replayDeliveries(deps, { merchant_id: dead.merchant_id }, false)
    else await replayDelivery(deps, dead.delivery_id)
    await advance(1_000)
    expect((await read(dead)).status).toBe('delivered')
  },
)

test('a replay that is repeated delivers what one before has queued without a wake', async () => {
  const { pipeline } = await fixture.startProcess('one')
  fixture.respond = () => FAILED
  const dead = newDelivery(1, 'one', { max_retries: 0 })
  await pipeline.queueDelivery(dead, BODY)
  await advance(10_000)
  fixture.respond = () => DELIVERED
  const { deliveries, destinations } = fixture.store
  const deps = { pipeline, deliveries, destinations, storeNow: now }
  const crashed = { ...deps, pipeline: { wake: () => Promise.reject(new Unavailable('it was killed')) } }
  await expect(replayDelivery(crashed, dead.delivery_id)).rejects.toThrow(Unavailable)
  await advance(1_000)
  expect((await read(dead)).status).toBe('pending')
  await replayDelivery(deps, dead.delivery_id)
  await advance(1_000)
  expect((await read(dead)).status).toBe('delivered')
})
