import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
} from '../pipeline/pipeline.fixture.ts'
import { type ProbeDestinationDeps, probeDestination } from './probe-destination.ts'

const KEY = 'endpoint:sick'

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
  fixture.respond = () => FAILED
})
afterEach(() => fixture[Symbol.dispose]())

type TestProcess = Awaited<ReturnType<PipelineFixture['startProcess']>>

/** Opens the breaker, and leaves one delivery that has used its tries there. */
async function openBreaker({ pipeline }: TestProcess): Promise<void> {
  for (let number = 1; number <= 6; number += 1) {
    await pipeline.queueDelivery(newDelivery(number, 'sick', { max_retries: 0 }), BODY)
    await fixture.clock.advance(100)
  }
  expect(await breaker()).toMatchObject({ failures: 5 })
}

const breaker = async () => (await fixture.destination(KEY))?.breaker

function depsOf({ pipeline }: TestProcess): ProbeDestinationDeps {
  const { deliveries, destinations } = fixture.store
  return { deliveries, destinations, pipeline, storeNow: now, isStopping: () => false }
}

/** Asks, and lets time pass until the answer is there. */
async function ask(process: TestProcess, destination_key = KEY) {
  let is_over = false
  const answer = probeDestination(depsOf(process), destination_key).finally(() => {
    is_over = true
  })
  answer.catch(() => undefined)
  for (let step = 0; step < 100 && !is_over; step += 1) await fixture.clock.advance(100)
  return await answer
}

// N5
test('sends what waits at once, and closes the breaker when it succeeds', async () => {
  const process = await fixture.startProcess('one')
  await openBreaker(process)
  fixture.respond = () => DELIVERED
  const from_ms = fixture.clock.now_ms()
  const { outcome, shown } = await ask(process)
  expect(outcome).toBe('succeeded')
  expect(shown).toMatchObject({ state: 'closed' })
  expect(fixture.attempts.at(-1)?.at_ms).toBeLessThan(from_ms + 3_000)
  expect(fixture.attempts).toHaveLength(6)
})

// N5
test('a probe that fails leaves the breaker open with the same pause and its own failure', async () => {
  const process = await fixture.startProcess('one')
  await openBreaker(process)
  for (let time = 1; time <= 3; time += 1) {
    const { outcome, shown } = await ask(process)
    expect(outcome).toBe('failed')
    expect(shown).toMatchObject({ state: 'open', waiting_count: 1 })
    expect(await breaker()).toMatchObject({ pause_ms: 30_000, failures: 5 + time, last_failure: {} })
    await fixture.clock.advance(6_000)
  }
})

// N5
test('sends a try that is due later when no other delivery waits', async () => {
  const process = await fixture.startProcess('one')
  for (let number = 1; number <= 5; number += 1) {
    const retried = { max_retries: 1, retry_delay_seconds: 86_400 }
    await process.pipeline.queueDelivery(newDelivery(number, 'sick', retried), BODY)
    await fixture.clock.advance(100)
  }
  // The lease was given back meanwhile, because nothing is due soon.
  await fixture.clock.advance(10_000)
  expect(fixture.attempts).toHaveLength(5)
  fixture.respond = () => DELIVERED
  expect(await ask(process)).toMatchObject({ outcome: 'succeeded', shown: { pending_count: 4 } })
  expect(fixture.attempts).toHaveLength(6)
})

// N5
test('does nothing at a closed breaker, and says when nothing waits', async () => {
  const process = await fixture.startProcess('one')
  await process.pipeline.queueDelivery(newDelivery(1, 'sick', { max_retries: 0 }), BODY)
  await fixture.clock.advance(100)
  const before = await fixture.destination(KEY)
  expect(await ask(process)).toMatchObject({ outcome: 'not_needed', shown: { state: 'closed' } })
  expect((await fixture.destination(KEY))?.breaker).toEqual(before?.breaker)
  for (let number = 2; number <= 5; number += 1) {
    await process.pipeline.queueDelivery(newDelivery(number, 'sick', { max_retries: 0 }), BODY)
    await fixture.clock.advance(100)
  }
  expect(await ask(process)).toMatchObject({ outcome: 'nothing_waits', shown: { state: 'half_open' } })
  expect(fixture.attempts).toHaveLength(5)
  fixture.respond = () => DELIVERED
  await fixture.clock.advance(5_000)
  await process.pipeline.queueDelivery(newDelivery(6, 'sick'), BODY)
  await fixture.clock.advance(1_000)
  expect(await breaker()).toMatchObject({ failures: 0 })
  await expect(ask(process, 'endpoint:none')).rejects.toMatchObject({ code: 1003 })
})

// N5
test('any notifier can be asked, and the next owner makes the probe when the owner was lost', async () => {
  const one = await fixture.startProcess('one')
  const two = await fixture.startProcess('two')
  await fixture.clock.advance(1_000)
  await openBreaker(one)
  fixture.respond = () => DELIVERED
  const owner = fixture.attempts.at(-1)?.process
  const [lost, other] = owner === 'one' ? [one, two] : [two, one]
  lost.kill()
  const { outcome } = await ask(other)
  if (outcome === 'asked') await fixture.clock.advance(10_000)
  expect(await breaker()).toMatchObject({ failures: 0 })
  expect(fixture.attempts.at(-1)?.process).not.toBe(owner)
})

// N5
test('many callers cannot flood a receiver: one probe in 5 seconds', async () => {
  const one = await fixture.startProcess('one')
  const two = await fixture.startProcess('two')
  await fixture.clock.advance(1_000)
  await openBreaker(one)
  const before = fixture.attempts.length
  const answers: Promise<unknown>[] = []
  for (let second = 0; second < 60; second += 1) {
    for (const process of [one, two, one])
      answers.push(probeDestination(depsOf(process), KEY).catch((error: unknown) => error))
    await fixture.clock.advance(1_000)
  }
  await fixture.clock.advance(10_000)
  const probes = fixture.attempts.length - before
  expect(probes).toBeGreaterThanOrEqual(6)
  expect(probes).toBeLessThanOrEqual(13)
  expect(await Promise.all(answers)).not.toContainEqual(expect.any(Error))
})
