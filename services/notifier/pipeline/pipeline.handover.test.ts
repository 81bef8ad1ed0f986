import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { sleep } from '#lib/base/time.ts'
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

const NAMES = Array.from({ length: 20 }, (_, number) => `d${number}`)

const advance = (ms: number): Promise<void> => fixture.clock.advance(ms)
const attemptsOf = ({ delivery_id }: Delivery) =>
  fixture.attempts.filter(({ delivery }) => delivery.delivery_id === delivery_id)

/** Delivers one event to each destination through a process. */
async function deliverAll({ pipeline }: TestProcess, number: number): Promise<readonly Delivery[]> {
  const deliveries = NAMES.map((name) => newDelivery(number, name))
  await Promise.all(deliveries.map((delivery) => pipeline.queueDelivery(delivery, BODY)))
  return deliveries
}

/** The notifier that has leased each destination; `undefined` without one. */
async function readOwners(): Promise<readonly (string | undefined)[]> {
  const destinations = await Promise.all(NAMES.map((name) => fixture.destination(`endpoint:${name}`)))
  return destinations.map((destination) => destination?.lease?.owner)
}

test('a destination whose attempt hangs goes on where it is, and is handed over when that has ended', async () => {
  const one = await fixture.startProcess('one')
  const hanging: ((outcome: AttemptOutcome) => void)[] = []
  fixture.respond = ({ delivery }) =>
    delivery.event_key === 'p-0:3' ? new Promise((resolve) => hanging.push(resolve)) : DELIVERED
  const first = await deliverAll(one, 0)
  await advance(100)
  await fixture.startProcess('two')
  await advance(5_000)
  for (let number = 1; number < 20; number += 1) {
    const begun_ms = fixture.clock.now_ms()
    const next = await deliverAll(one, number)
    await advance(1_000)
    for (const delivery of next) {
      const attempts = attemptsOf(delivery).map(({ process, at_ms }) => [process, at_ms - begun_ms <= 50])
      expect(attempts).toEqual([['one', true]])
    }
  }
  for (const answer of hanging) answer(DELIVERED)
  await advance(3_000)
  const last = await deliverAll(one, 20)
  await advance(1_000)
  for (const delivery of [...first, ...last]) expect(attemptsOf(delivery)).toHaveLength(1)
  const by_two = last.filter((delivery) => attemptsOf(delivery)[0]?.process === 'two').length
  expect(by_two).toBeGreaterThan(3)
  expect(by_two).toBeLessThan(17)
})

test('a busy destination pauses for less than half a second while it is handed over', async () => {
  const one = await fixture.startProcess('one')
  fixture.respond = async () => {
    await sleep(120)
    return DELIVERED
  }
  await deliverAll(one, 0)
  await advance(1_600)
  await fixture.startProcess('two')
  const deliveries: Delivery[] = []
  for (let number = 1; number < 60; number += 1) {
    deliveries.push(...(await deliverAll(one, number)))
    await advance(50)
  }
  await advance(1_000)
  const handed_over = new Set<string>()
  for (const delivery of deliveries) {
    const [attempt, ...others] = attemptsOf(delivery)
    expect(others).toEqual([])
    expect((attempt?.at_ms ?? 0) - delivery.created_at.getTime()).toBeLessThan(500)
    if (attempt?.process === 'two') handed_over.add(delivery.destination_key)
  }
  expect(handed_over.size).toBeGreaterThan(3)
  expect(handed_over.size).toBeLessThan(17)
})

test('a destination stays while a delivery is being stored for it', async () => {
  const one = await fixture.startProcess('one')
  fixture.respond = () => FAILED
  // With an open breaker no attempt is made at once, so only the insert of the delivery keeps the destination.
  for (let number = 0; number < 5; number += 1) {
    const failing = NAMES.map((name) => newDelivery(number, name, { retry_delay_seconds: 3_600 }))
    await Promise.all(failing.map((delivery) => one.pipeline.queueDelivery(delivery, BODY)))
    await advance(5)
  }
  const insert = Promise.withResolvers<void>()
  one.onCommand = ({ kind, collection }) =>
    kind === 'insert' && collection === 'deliveries' ? insert.promise : undefined
  const before = await readOwners()
  expect(new Set(before).size).toBe(1)
  const late = deliverAll(one, 10)
  await fixture.startProcess('two')
  await advance(6_000)
  expect(await readOwners()).toEqual(before)
  insert.resolve()
  await late
  await advance(3_000)
  expect(new Set(await readOwners()).size).toBeGreaterThan(1)
})

test('a notifier stops only when its attempts have ended, so that no other one repeats them', async () => {
  const one = await fixture.startProcess('one')
  const answers: ((outcome: AttemptOutcome) => void)[] = []
  fixture.respond = () => new Promise((resolve) => answers.push(resolve))
  const deliveries = await deliverAll(one, 0)
  await fixture.startProcess('two')
  let is_stopped = false
  const stopped = one.stop().then(() => {
    is_stopped = true
  })
  await advance(3_000)
  expect(is_stopped).toBe(false)
  for (const answer of answers) answer(DELIVERED)
  await advance(3_000)
  await stopped
  for (const delivery of deliveries) {
    expect(await fixture.stored(delivery)).toMatchObject({ status: 'delivered' })
    expect(attemptsOf(delivery)).toHaveLength(1)
  }
})
