import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
  type TestProcess,
} from './pipeline.fixture.ts'

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
})
afterEach(() => fixture[Symbol.dispose]())

const advance = (ms: number): Promise<void> => fixture.clock.advance(ms)
const statusOf = async (delivery: Delivery): Promise<string | undefined> =>
  (await fixture.stored(delivery))?.status
const attemptsOf = ({ delivery_id }: Delivery) =>
  fixture.attempts.filter(({ delivery }) => delivery.delivery_id === delivery_id)

/** Receivers that answer only when the test says so. */
function holdReceivers() {
  const held: ((outcome: AttemptOutcome) => void)[] = []
  fixture.respond = () => new Promise((resolve) => held.push(resolve))
  return held
}

describe('a delivery', () => {
  test('costs its owner two writes, and is counted before its request leaves', async () => {
    const one = await fixture.startProcess('one')
    await one.pipeline.queueDelivery(newDelivery(0), BODY)
    await advance(100)
    let counted: Delivery | undefined
    fixture.respond = async ({ delivery }) => {
      counted = await fixture.stored(delivery)
      return DELIVERED
    }
    one.writes.length = 0
    const delivery = newDelivery(1)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(1)
    expect(await fixture.stored(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] })
    expect(counted).toMatchObject({ status: 'pending', attempt: { number: 1, reclaims: 0 } })
    expect(one.writes.filter((write) => write.endsWith('deliveries'))).toEqual([
      'insert deliveries',
      'replace deliveries',
    ])
  })

  test('that is stored again is sent once', async () => {
    const one = await fixture.startProcess('one')
    const delivery = newDelivery(1)
    const held = holdReceivers()
    for (let time = 0; time < 5; time += 1) await one.pipeline.queueDelivery(delivery, BODY)
    await advance(10)
    held[0]?.(DELIVERED)
    await advance(5_000)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(5_000)
    expect(attemptsOf(delivery)).toHaveLength(1)
    expect(await statusOf(delivery)).toBe('delivered')
  })

  // N2
  test('is retried when its stored time comes, also after its destination was given back', async () => {
    const one = await fixture.startProcess('one')
    fixture.respond = () => FAILED
    const delivery = newDelivery(1, 'one', { max_retries: 3, retry_delay_seconds: 60 })
    await one.pipeline.queueDelivery(delivery, BODY)
    const due: number[] = []
    for (let retry = 0; retry < 3; retry += 1) {
      await advance(1)
      due.push((await fixture.stored(delivery))?.due_at?.getTime() ?? 0)
      await advance((due.at(-1) ?? 0) - fixture.clock.now_ms() + 1_000)
    }
    expect(await statusOf(delivery)).toBe('dead')
    const [, ...retries] = attemptsOf(delivery).map(({ at_ms }) => at_ms)
    for (const [index, at_ms] of retries.entries()) {
      expect(at_ms).toBeGreaterThanOrEqual(due[index] ?? 0)
      expect(at_ms - (due[index] ?? 0)).toBeLessThanOrEqual(500)
    }
  })

  test.each<[string, Partial<Delivery>]>([
    ['was delivered', { status: 'delivered', try_kind: undefined, due_at: undefined }],
    ['is due later', { due_at: new Date('9999-01-01T00:00:00.000Z') }],
  ])('is not sent by an owner that has queued it when it %s meanwhile', async (_name, change) => {
    const one = await fixture.startProcess('one')
    fixture.respond = () => FAILED
    const delivery = newDelivery(1)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(500)
    const queued = await fixture.stored(delivery)
    if (queued === undefined) throw new Error('the delivery was not stored')
    expect(queued).toMatchObject({ status: 'pending', try_kind: 'retry' })
    const changed = await fixture.store.deliveries.replace({ ...queued, ...change }, queued.version)
    await advance(5_000)
    expect(attemptsOf(delivery)).toHaveLength(1)
    expect(await fixture.stored(delivery)).toEqual(changed)
  })

  test('leaves nothing behind at its destination once there is nothing to do', async () => {
    const one = await fixture.startProcess('one')
    await one.pipeline.queueDelivery(newDelivery(1), BODY)
    await advance(10_000)
    const destination = await fixture.destination('endpoint:one')
    expect(destination?.lease).toBeUndefined()
    expect(destination?.wake_at).toBeUndefined()
    const unused_ms = (destination?.expires_at?.getTime() ?? 0) - fixture.clock.now_ms()
    expect(unused_ms).toBeGreaterThan(0)
    expect(unused_ms).toBeLessThanOrEqual(86_400_000)
  })
})

describe('a crash', () => {
  /** Kills the first notifier at its n-th command, before or after that takes effect; returns whether it got so far. */
  async function crashAt(step: number, delivery: Delivery): Promise<boolean> {
    const one = await fixture.startProcess('one')
    let commands = 0
    one.onCommand = ({ collection }) => {
      if (collection === 'members') return undefined
      commands += 1
      if (commands === step) one.kill()
      return undefined
    }
    void one.pipeline.queueDelivery(delivery, BODY)
    await advance(3_000)
    return commands >= step
  }

  test('at any step loses no delivery: the publisher repeats what got no receipt, and the rest goes on within 6 s', async () => {
    for (let step = 1; ; step += 1) {
      fixture[Symbol.dispose]()
      fixture = await openPipelines()
      const delivery = newDelivery(step)
      const has_crashed = await crashAt(step, delivery)
      const two = await fixture.startProcess('two')
      // Whether the first notifier had sent the receipt does not matter: the publisher may repeat an event at any time.
      if ((await fixture.stored(delivery)) === undefined) void two.pipeline.queueDelivery(delivery, BODY)
      await advance(6_000)
      expect([step, await statusOf(delivery)]).toEqual([step, 'delivered'])
      expect((await fixture.stored(delivery))?.attempts).toHaveLength(1)
      if (!has_crashed) return
    }
  })

  test('in an attempt repeats it under its number, within 6 s of the restart', async () => {
    const one = await fixture.startProcess('one')
    holdReceivers()
    const delivery = newDelivery(1)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(10)
    one.kill()
    fixture.respond = () => DELIVERED
    await fixture.startProcess('two')
    await advance(6_000)
    expect(attemptsOf(delivery).map(({ process }) => process)).toEqual(['one', 'two'])
    expect(await fixture.stored(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] })
  })

  test('of the request itself ends after six processes', async () => {
    const delivery = newDelivery(1, 'one', { max_retries: 1 })
    for (let process = 0; process < 7; process += 1) {
      holdReceivers()
      const started = await fixture.startProcess(`${process}`)
      if (process === 0) await started.pipeline.queueDelivery(delivery, BODY)
      await advance(9_000)
      if ((await fixture.stored(delivery))?.attempts.length === 1) break
      started.kill()
    }
    expect(await fixture.stored(delivery)).toMatchObject({
      attempts: [{ number: 1, failure: 'interrupted' }],
    })
    expect(attemptsOf(delivery).filter(({ delivery: { attempt } }) => attempt?.number === 1)).toHaveLength(6)
  })

  test('of the result of an attempt does not count it: the late result of an overtaken attempt is dropped', async () => {
    const one = await fixture.startProcess('one')
    const held = holdReceivers()
    const delivery = newDelivery(1)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(10)
    // The process is paused for longer than its lease: its renewals do not arrive.
    one.onCommand = ({ collection }) => (collection === 'deliveries' ? undefined : new Promise(() => {}))
    await fixture.startProcess('two')
    fixture.respond = () => DELIVERED
    await advance(8_000)
    expect(attemptsOf(delivery).map(({ process }) => process)).toEqual(['one', 'two'])
    const delivered = await fixture.stored(delivery)
    held[0]?.(FAILED)
    await advance(10_000)
    expect(await fixture.stored(delivery)).toEqual(delivered)
    expect(delivered?.status).toBe('delivered')
  })

  test('of nothing: a process without its lease sends nothing', async () => {
    const one = await fixture.startProcess('one')
    await one.pipeline.queueDelivery(newDelivery(0), BODY)
    await advance(100)
    // The insert of the next delivery takes longer than the lease lasts.
    const late = Promise.withResolvers<void>()
    one.onCommand = ({ kind, collection }) => {
      if (collection === 'destinations') return new Promise(() => {})
      return kind === 'insert' && collection === 'deliveries' ? late.promise : undefined
    }
    const delivery = newDelivery(1)
    void one.pipeline.queueDelivery(delivery, BODY)
    await advance(8_000)
    one.onCommand = () => undefined
    late.resolve()
    await advance(5)
    expect(attemptsOf(delivery)).toEqual([])
    await fixture.startProcess('two')
    await advance(8_000)
    expect(await statusOf(delivery)).toBe('delivered')
  })

  test('of nothing: what a process stores before it learns that its lease has ended is delivered all the same', async () => {
    const one = await fixture.startProcess('one')
    // An attempt in progress keeps the destination at this process.
    fixture.respond = ({ process }) => (process === 'one' ? new Promise(() => {}) : DELIVERED)
    await one.pipeline.queueDelivery(newDelivery(0), BODY)
    await advance(100)
    // It is paused while the next owner finds nothing to do and gives the destination back.
    const pause = Promise.withResolvers<void>()
    one.onCommand = ({ collection }) => (collection === 'deliveries' ? undefined : pause.promise)
    await fixture.startProcess('two')
    await advance(20_000)
    expect((await fixture.destination('endpoint:one'))?.wake_at).toBeUndefined()
    const delivery = newDelivery(1)
    const received = one.pipeline.queueDelivery(delivery, BODY)
    await advance(5)
    pause.resolve()
    await received
    one.kill()
    await advance(8_000)
    expect(await statusOf(delivery)).toBe('delivered')
  })
})

describe('an outage of the store', () => {
  test('repeats no callback that was delivered: its result is written when the store is back', async () => {
    const one = await fixture.startProcess('one')
    const held = holdReceivers()
    const delivery = newDelivery(1)
    await one.pipeline.queueDelivery(delivery, BODY)
    await advance(10)
    one.onCommand = () => Promise.reject(new Unavailable('the store is down, as the test says'))
    held[0]?.(DELIVERED)
    await advance(60_000)
    one.onCommand = () => undefined
    await advance(10_000)
    expect(attemptsOf(delivery)).toHaveLength(1)
    expect(await statusOf(delivery)).toBe('delivered')
  })
})

describe('several notifiers', () => {
  const many = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `d${at}`)

  /** Delivers one event to each destination through each process in turn. */
  async function deliverAll(
    processes: readonly TestProcess[],
    destinations: readonly string[],
    first: number,
  ): Promise<readonly Delivery[]> {
    const deliveries = destinations.map((name, at) => newDelivery(first + at, name))
    await Promise.all(
      deliveries.map((delivery, at) =>
        processes[at % processes.length]?.pipeline.queueDelivery(delivery, BODY),
      ),
    )
    return deliveries
  }

  test('make the attempts of a destination in one of them, and share the destinations', async () => {
    const processes = [await fixture.startProcess('one'), await fixture.startProcess('two')]
    await advance(1_000)
    const destinations = many(40)
    const rounds = []
    for (let round = 0; round < 4; round += 1) {
      rounds.push(...(await deliverAll(processes, destinations, round * 100 + (round % 2))))
      await advance(300)
    }
    await advance(2_000)
    for (const delivery of rounds) expect(attemptsOf(delivery)).toHaveLength(1)
    const owners = destinations.map((name) => {
      const seen = fixture.attempts.filter(({ delivery }) => delivery.endpoint_id === name)
      return new Set(seen.map(({ process }) => process))
    })
    expect(owners.every((names) => names.size === 1)).toBe(true)
    const of_one = owners.filter((names) => names.has('one')).length
    expect(of_one).toBeGreaterThan(8)
    expect(of_one).toBeLessThan(32)
  })

  test('give a new one its share, and double nothing while they hand over', async () => {
    const one = await fixture.startProcess('one')
    const held = holdReceivers()
    const destinations = many(30)
    const first = await deliverAll([one], destinations, 0)
    await advance(10)
    await fixture.startProcess('two')
    await advance(4_000)
    fixture.respond = () => DELIVERED
    for (const answer of held) answer(DELIVERED)
    await advance(4_000)
    const second = await deliverAll([one], destinations, 100)
    await advance(4_000)
    for (const delivery of [...first, ...second]) {
      expect(await statusOf(delivery)).toBe('delivered')
      expect(attemptsOf(delivery)).toHaveLength(1)
    }
    const by_two = second.filter((delivery) => attemptsOf(delivery)[0]?.process === 'two').length
    expect(by_two).toBeGreaterThan(6)
    expect(by_two).toBeLessThan(24)
  })

  test.each([
    ['at once when the bus carries the wake', false, 50],
    ['within 2 s when the bus loses it', true, 2_000],
  ])('attempt what another one has stored %s', async (_name, is_bus_down, within_ms) => {
    const processes = [await fixture.startProcess('one'), await fixture.startProcess('two')]
    await advance(1_000)
    const first = await deliverAll(processes, many(20), 0)
    await advance(200)
    expect(first.every((delivery) => attemptsOf(delivery).length === 1)).toBe(true)
    fixture.isBusDown = is_bus_down
    const second = await deliverAll(processes.toReversed(), many(20), 100)
    await advance(within_ms)
    expect(second.every((delivery) => attemptsOf(delivery).length === 1)).toBe(true)
  })

  // The owner's read after it has given the lease back finds what was stored while others still saw the lease.
  test('lose no delivery that one stores while another gives the destination back', async () => {
    const processes = [await fixture.startProcess('one'), await fixture.startProcess('two')]
    await advance(1_000)
    fixture.isBusDown = true
    for (const [at, name] of many(12).entries()) {
      // Each time the delivery is stored at another moment before the destination is given back.
      const number = (at + 1) * 10
      await deliverAll(processes, [name, name], number)
      await advance(1_600 + number)
      const owner = fixture.attempts.findLast(({ delivery }) => delivery.endpoint_id === name)?.process
      const late = newDelivery(number + 5, name)
      await processes[owner === 'one' ? 1 : 0]?.pipeline.queueDelivery(late, BODY)
      await advance(4_500)
      expect([number, await statusOf(late)]).toEqual([number, 'delivered'])
    }
  })

  // The placement serves speed only. The lease keeps this safe.
  test('that do not see each other make each attempt once', async () => {
    const one = await fixture.startProcess('one')
    one.onCommand = ({ collection }) => (collection === 'members' ? new Promise(() => {}) : undefined)
    const two = await fixture.startProcess('two')
    await advance(4_000)
    const held = holdReceivers()
    const first = await deliverAll([one], many(10), 0)
    const second = await deliverAll([two], many(10), 100)
    await advance(3_000)
    expect(fixture.attempts.every(({ process }) => process === 'one')).toBe(true)
    fixture.respond = () => DELIVERED
    for (const answer of held) answer(DELIVERED)
    await advance(10_000)
    for (const delivery of [...first, ...second]) {
      expect(attemptsOf(delivery)).toHaveLength(1)
      expect(await statusOf(delivery)).toBe('delivered')
    }
  })

  test('take over at once what one gives back when it stops', async () => {
    const processes = [await fixture.startProcess('one'), await fixture.startProcess('two')]
    await advance(1_000)
    const held = holdReceivers()
    const deliveries = await deliverAll(processes, many(10), 0)
    await advance(10)
    fixture.respond = () => DELIVERED
    const stopped = processes[0]?.stop()
    // The stop of the process aborts its requests.
    for (const answer of held) answer({ kind: 'postponed', wait_ms: 0 })
    await advance(10)
    await stopped
    await advance(1_000)
    for (const delivery of deliveries) expect(await statusOf(delivery)).toBe('delivered')
  })
})
