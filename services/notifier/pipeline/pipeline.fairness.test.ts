import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import { destinationKeyOf } from '../domain/destination.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
  type TestProcess,
} from './pipeline.fixture.ts'
import { SLOT_LIMITS } from './slots.ts'

let fixture: PipelineFixture
let notifier: TestProcess
/** The answers that hanging receivers still owe, and the most attempts at once, by host. */
let hanging: { host: string; answer: (outcome: AttemptOutcome) => void }[]
let most: Map<string, number>

beforeEach(async () => {
  fixture = await openPipelines()
  notifier = await fixture.startProcess('one')
  hanging = []
  last_number = 0
  most = new Map()
  fixture.respond = ({ delivery: { url } }) => {
    const { hostname: host } = new URL(url)
    if (!host.startsWith('hang')) return DELIVERED
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>()
    hanging.push({ host, answer: resolve })
    const now = hanging.filter((one) => one.host === host).length
    most.set(host, Math.max(most.get(host) ?? 0, now))
    return promise
  }
})
afterEach(() => fixture[Symbol.dispose]())

const advance = (ms: number): Promise<void> => fixture.clock.advance(ms)

async function deliver(
  count: number,
  destination: string,
  changes: Partial<Delivery> = {},
): Promise<Delivery[]> {
  const deliveries = Array.from({ length: count }, (_, number) => newDelivery(number, destination, changes))
  for (const delivery of deliveries) await notifier.pipeline.queueDelivery(delivery, BODY)
  return deliveries
}

let last_number: number

/** Makes a delivery of a new event to a `webhook_url`. */
async function deliverTo(url: string, changes: Partial<Delivery> = {}): Promise<Delivery> {
  const merchant_id = changes.merchant_id ?? '7001'
  const destination_key = destinationKeyOf(merchant_id, 'test', { url })
  last_number += 1
  const delivery = newDelivery(last_number, destination_key, { ...changes, url, destination_key })
  await notifier.pipeline.queueDelivery(delivery, BODY)
  return delivery
}

/** Lets each destination have a success, so that the bounds of unproven ones do not apply. */
async function prove(destinations: readonly string[]): Promise<void> {
  const { respond } = fixture
  fixture.respond = () => DELIVERED
  for (const destination of destinations)
    await notifier.pipeline.queueDelivery(newDelivery(10_000, destination), BODY)
  await advance(5)
  fixture.attempts.length = 0
  fixture.respond = respond
}

/** The names of a number of destinations, each with a host that hangs. */
const hangingNames = (count: number): string[] =>
  Array.from({ length: count }, (_, number) => `hang${number}`)

/** The number of these deliveries that have got an attempt. */
const attempted = (deliveries: readonly Delivery[]): number => {
  const ids = new Set(fixture.attempts.map(({ delivery }) => delivery.delivery_id))
  return deliveries.filter(({ delivery_id }) => ids.has(delivery_id)).length
}

describe('a receiver that hangs', () => {
  test('holds no more than the slots of one destination', async () => {
    await prove(['hang'])
    await deliver(300, 'hang')
    await advance(1_500)
    expect(most.get('hang.example.com')).toBe(SLOT_LIMITS.endpoint.all)
  })

  test('delays no delivery of the same merchant to another destination', async () => {
    await deliver(300, 'hang')
    await advance(5_000)
    const others = await deliver(20, 'quick')
    await advance(5)
    expect(attempted(others)).toBe(20)
  })

  test('gets no more than the slots of its host, however many destinations and ports it has', async () => {
    await prove(hangingNames(20))
    for (let port = 0; port < 20; port += 1)
      await deliver(40, `hang${port}`, { url: `http://hang.example.com:${8_000 + port}/` })
    await advance(1_500)
    expect(most.get('hang.example.com')).toBe(SLOT_LIMITS.host.all)
  })

  test('gets no more than the slots of its merchant, however many hosts the merchant has', async () => {
    await prove(hangingNames(40))
    for (const name of hangingNames(40)) await deliver(40, name)
    await advance(1_500)
    expect(hanging).toHaveLength(SLOT_LIMITS.merchant.all)
    const others = await deliver(20, 'quick', { merchant_id: '7002' })
    await advance(5)
    expect(attempted(others)).toBe(20)
  })

  test('holds fewer slots while it has had no success', async () => {
    await deliver(300, 'hang')
    await advance(1_500)
    expect(most.get('hang.example.com')).toBe(SLOT_LIMITS.endpoint.unproven)
  })

  test('holds fewer slots after a failure, although that was quick', async () => {
    await prove(['hang'])
    const { respond } = fixture
    fixture.respond = () => FAILED
    await notifier.pipeline.queueDelivery(newDelivery(10_001, 'hang', { retry_delay_seconds: 3_600 }), BODY)
    await advance(5)
    fixture.respond = respond
    await deliver(300, 'hang')
    await advance(1_500)
    expect(most.get('hang.example.com')).toBe(SLOT_LIMITS.endpoint.sick)
  })

  test('shares a bounded part of the slots with all sick ones', async () => {
    for (let merchant = 0; merchant < 20; merchant += 1)
      for (let host = 0; host < 40; host += 1)
        await deliver(1, `hang${merchant}-${host}`, { merchant_id: `${merchant}` })
    await advance(5_000)
    const before = hanging.length
    // Their first attempts began before they were known to hang. From now on they are sick.
    for (let merchant = 0; merchant < 20; merchant += 1)
      for (let host = 0; host < 40; host += 1) {
        const more = newDelivery(7, `hang${merchant}-${host}`, { merchant_id: `${merchant}` })
        await notifier.pipeline.queueDelivery(more, BODY)
      }
    await advance(1_000)
    expect(before).toBe(800)
    expect(hanging).toHaveLength(800)
    const others = await deliver(20, 'quick', { merchant_id: 'other' })
    await advance(5)
    expect(attempted(others)).toBe(20)
  })

  test('gets its slots back when it answers, and is not sick after quick answers', async () => {
    await deliver(100, 'hang')
    await advance(5_000)
    while (hanging.length > 0) {
      for (const { answer } of hanging.splice(0)) answer(DELIVERED)
      await advance(5)
    }
    expect(fixture.attempts).toHaveLength(100)
    await deliver(300, 'hang', { event: 'payment.failed', merchant_id: '7003' })
    await advance(1_000)
    expect(hanging).toHaveLength(SLOT_LIMITS.endpoint.all)
  })
})

describe('a merchant with an origin per payment, whose host hangs', () => {
  /** Makes deliveries to origins of one merchant, of which each is used once. */
  async function deliverToOrigins(count: number, merchant_id: string): Promise<void> {
    for (let number = 0; number < count; number += 1)
      await deliverTo(`http://hang.example.com:${2_000 + number}/`, { merchant_id })
  }
  beforeEach(async () => {
    await notifier.stop()
    notifier = await fixture.startProcess('small', { owned_max: 400 })
  })

  test('leaves the destinations of another merchant their place in the process', async () => {
    await deliverToOrigins(500, '7001')
    await advance(3_000)
    const others = await deliver(5, 'quick', { merchant_id: '7002' })
    await advance(5)
    expect(attempted(others)).toBe(5)
  })

  test('gives back what only waits when more merchants come, and delivers all of it later', async () => {
    await deliverToOrigins(320, '7001')
    await deliverToOrigins(120, '7002')
    await advance(5_000)
    const others = await deliver(5, 'quick', { merchant_id: '7003' })
    await advance(5)
    expect(attempted(others)).toBe(5)
    while (fixture.attempts.length < 320 + 120 + 5) {
      for (const { answer } of hanging.splice(0)) answer(DELIVERED)
      await advance(2_000)
    }
    expect(fixture.attempts).toHaveLength(320 + 120 + 5)
  })
})

describe('a merchant whose 200 deliveries to one origin hang, each to a URL of its own', () => {
  const hanging_origin = 'https://hang.example.com'
  const hang = async (): Promise<void> => {
    for (let number = 0; number < 200; number += 1) await deliverTo(`${hanging_origin}/?order=${number}`)
  }
  const succeedAt = async (origin: string): Promise<void> => {
    const { respond } = fixture
    fixture.respond = () => DELIVERED
    await deliverTo(`${origin}/`)
    await advance(5)
    fixture.respond = respond
  }
  const failAt = async (origin: string): Promise<void> => {
    const { respond } = fixture
    fixture.respond = () => FAILED
    await deliverTo(`${origin}/`, { max_retries: 0 })
    await advance(5)
    fixture.respond = respond
  }

  // N5 (3), N10: also at another port of the same host.
  test.each(['https://quick.example.com', 'https://hang.example.com:8443'])(
    'has its deliveries to %s at once, whatever is known of either origin',
    async (other) => {
      const { respond } = fixture
      fixture.respond = (seen) =>
        seen.delivery.url.startsWith(`${hanging_origin}/`) ? respond(seen) : DELIVERED
      for (const prepare of [async () => {}, () => succeedAt(other), () => failAt(other)]) {
        await prepare()
        await hang()
        await advance(5_000)
        const others: Delivery[] = []
        for (let number = 0; number < 40; number += 1)
          others.push(await deliverTo(`${other}/callbacks?order=${number}`))
        await advance(5)
        expect(attempted(others)).toBe(40)
        for (const { answer } of hanging.splice(0)) answer(DELIVERED)
        await advance(5)
        fixture.attempts.length = 0
        await succeedAt(hanging_origin)
      }
    },
  )

  test('makes at most 256 attempts at once to the origin once one has succeeded', async () => {
    await succeedAt(hanging_origin)
    for (let number = 0; number < 400; number += 1) await deliverTo(`${hanging_origin}/?order=${number}`)
    await advance(1_500)
    expect(most.get('hang.example.com')).toBe(256)
  })
})

test('a process leases no more destinations than its limit, however many merchants have some', async () => {
  await notifier.stop()
  notifier = await fixture.startProcess('small', { owned_max: 3 })
  for (let merchant = 0; merchant < 6; merchant += 1)
    await deliver(1, `hang${merchant}`, { merchant_id: `${merchant}` })
  await advance(5_000)
  expect(hanging).toHaveLength(3)
})

test('a destination with a large backlog leaves the others their turns', async () => {
  await deliver(1_000, 'hang')
  await advance(1_000)
  const backlog = fixture.attempts.length
  const others = await deliver(100, 'quick')
  await advance(5)
  expect(attempted(others)).toBe(100)
  expect(fixture.attempts.length).toBe(backlog + 100)
})

test('a backlog is read from the store piece by piece', async () => {
  const deliveries = await deliver(1_000, 'hang')
  while (hanging.length > 0) {
    for (const { answer } of hanging.splice(0)) answer(DELIVERED)
    await advance(20)
  }
  expect(attempted(deliveries)).toBe(1_000)
  expect(fixture.attempts).toHaveLength(1_000)
})

test('a first try does not overtake those that wait for a slot when one is given back', async () => {
  const names = hangingNames(SLOT_LIMITS.host.all + 60)
  const url = 'https://hang.example.com/'
  await prove(names)
  for (const name of names.slice(60)) await deliver(1, name, { url })
  const [waiting] = await deliver(1, 'other', { url, merchant_id: '7002' })
  await advance(10)
  expect(hanging).toHaveLength(SLOT_LIMITS.host.all)
  hanging[0]?.answer(DELIVERED)
  // One after the other, so that some are stored between the end of that attempt and the next turn.
  for (const name of names.slice(0, 60)) await deliver(1, name, { url })
  await advance(10)
  expect(fixture.attempts.at(-1)?.delivery.delivery_id).toBe(waiting?.delivery_id)
})

test('retries do not hold up first tries of their destination', async () => {
  const respond = fixture.respond
  fixture.respond = () => FAILED
  // Few enough to keep the breaker closed, in two bursts.
  await deliver(4, 'hang', { max_retries: 10 })
  await advance(100)
  fixture.respond = respond
  await advance(3_000)
  expect(hanging.length).toBe(4)
  const first_tries = await deliver(20, 'hang', { event_key: 'x', merchant_id: '7004' })
  await advance(10)
  expect(attempted(first_tries)).toBe(20)
})
