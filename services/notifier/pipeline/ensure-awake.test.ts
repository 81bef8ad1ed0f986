import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BODY, newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'

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
  let is_held = false
  one.onCommand = async ({ kind, collection }) => {
    if (kind !== 'replace' || collection !== 'destinations') return
    if ((await fixture.destination(`endpoint:${name}`))?.lease !== undefined) return
    is_held = true
    await last_write.promise
  }
  await advance(4_000)
  expect(is_held).toBe(true)
  const late = newDelivery(100, name)
  await two.pipeline.queueDelivery(late, BODY)
  // Its last write arrives, and nothing after that.
  one.onCommand = () => void one.kill()
  last_write.resolve()
  await advance(10_000)
  expect(await fixture.stored(late)).toMatchObject({ status: 'delivered' })
})
