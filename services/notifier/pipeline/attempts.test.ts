import { afterEach, beforeEach, expect, test } from '@jest/globals'
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

// N2
test('a delivery that was read as due while its attempt failed waits for the time of its retry', async () => {
  const one = await fixture.startProcess('one')
  await one.pipeline.queueDelivery(newDelivery(1), BODY)
  await advance(100)
  const answer = Promise.withResolvers<typeof FAILED>()
  fixture.respond = () => answer.promise
  // Nearly always too late to be queued again at once.
  const failing = newDelivery(2, 'one', { retry_delay_seconds: 3_600 })
  await one.pipeline.queueDelivery(failing, BODY)
  const begun_ms = fixture.clock.now_ms()
  // The store has found the delivery, and the process receives that only after the attempt has ended.
  const held = Promise.withResolvers<void>()
  let found = 0
  one.onResult = ({ kind, collection }) => {
    if (kind !== 'find' || collection !== 'deliveries') return undefined
    found += 1
    return held.promise
  }
  await advance(2_000)
  expect(found).toBeGreaterThan(0)
  answer.resolve(FAILED)
  await advance(10)
  fixture.respond = () => DELIVERED
  held.resolve()
  await advance(500)
  expect(fixture.attempts.filter(({ at_ms }) => at_ms > begun_ms)).toEqual([])
  expect(await fixture.stored(failing)).toMatchObject({ status: 'pending', attempts: [{ number: 1 }] })
})
