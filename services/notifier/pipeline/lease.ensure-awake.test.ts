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

test('a delivery is not lost that one stores before the late last write of an owner that gives back and crashes', async () => {
  const one = await fixture.startProcess('one')
  const two = await fixture.startProcess('two')
  await advance(1_000)
  for (let number = 0; number < 20; number += 1)
    await one.pipeline.queueDelivery(newDelivery(number, `d${number}`), BODY)
  await advance(100)
  const name = fixture.attempts.find(({ process }) => process === 'one')?.delivery.endpoint_id ?? ''
  const last_write = Promise.withResolvers<void>()
  let is_waiting = false
  one.onCommand = async ({ kind, collection }) => {
    if (kind !== 'replace' || collection !== 'destinations') return
    if ((await fixture.destination(`endpoint:${name}`))?.lease !== undefined) return
    is_waiting = true
    await last_write.promise
  }
  await advance(4_000)
  expect(is_waiting).toBe(true)
  const late = newDelivery(100, name)
  await two.pipeline.queueDelivery(late, BODY)
  // Its last write arrives, and nothing after that.
  one.onCommand = () => void one.kill()
  last_write.resolve()
  await advance(10_000)
  expect(await fixture.stored(late)).toMatchObject({ status: 'delivered' })
})

test('a destination that was about to be deleted as unused is kept while a delivery waits there', async () => {
  const one = await fixture.startProcess('one')
  await one.pipeline.queueDelivery(newDelivery(1), BODY)
  await advance(5_000)
  await one.stop()
  const { expires_at } = (await fixture.destination('endpoint:one')) ?? {}
  await advance((expires_at?.getTime() ?? 0) - fixture.clock.now_ms() - 1_000)
  // It leases nothing, and ends before another notifier can.
  const last = await fixture.startProcess('last', { owned_max: 0 })
  const late = newDelivery(2)
  await last.pipeline.queueDelivery(late, BODY)
  await last.stop()
  await advance(5_000)
  expect(fixture.clock.now_ms()).toBeGreaterThan(expires_at?.getTime() ?? 0)
  await fixture.startProcess('next')
  await advance(1_000)
  expect(await fixture.stored(late)).toMatchObject({ status: 'delivered' })
})

test('a destination that was about to be deleted as unused is kept while it is leased, so that its retries are made', async () => {
  const one = await fixture.startProcess('one')
  await one.pipeline.queueDelivery(newDelivery(1), BODY)
  await advance(5_000)
  await one.stop()
  const { expires_at } = (await fixture.destination('endpoint:one')) ?? {}
  await advance((expires_at?.getTime() ?? 0) - fixture.clock.now_ms() - 1_000)
  const { pipeline } = await fixture.startProcess('next')
  const first_try = Promise.withResolvers<typeof FAILED>()
  fixture.respond = () => first_try.promise
  const late = newDelivery(2)
  await pipeline.queueDelivery(late, BODY)
  await advance(5_000)
  expect(fixture.clock.now_ms()).toBeGreaterThan(expires_at?.getTime() ?? 0)
  fixture.respond = () => DELIVERED
  first_try.resolve(FAILED)
  await advance(10_000)
  expect(await fixture.stored(late)).toMatchObject({ status: 'delivered' })
})
