import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { BODY, newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'
import { SLOT_LIMITS } from './slots.ts'

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
})
afterEach(() => fixture[Symbol.dispose]())

const advance = (ms: number): Promise<void> => fixture.clock.advance(ms)

/** The writes of a process so far, without its heartbeats. */
function withoutHeartbeats(writes: readonly string[]): readonly string[] {
  return writes.filter((write) => !write.endsWith('members'))
}

test('a destination that is used once costs five writes besides that of its event', async () => {
  const { pipeline, writes } = await fixture.startProcess('one')
  await pipeline.queueDelivery(newDelivery(1), BODY)
  await advance(20_000)
  expect(withoutHeartbeats(writes)).toEqual([
    'insert destinations',
    'insert deliveries',
    'replace deliveries',
    'replace destinations',
    'replace destinations',
  ])
})

test('deliveries that come at once for a new destination lease it with one write', async () => {
  const { pipeline, writes } = await fixture.startProcess('one')
  const deliveries = Array.from({ length: 10 }, (_, number) => newDelivery(number))
  await Promise.all(deliveries.map((delivery) => pipeline.queueDelivery(delivery, BODY)))
  expect(writes.filter((write) => write === 'insert destinations')).toHaveLength(1)
  expect(fixture.attempts).toHaveLength(10)
})

test('deliveries that could not be stored keep no slot', async () => {
  const one = await fixture.startProcess('one')
  await one.pipeline.queueDelivery(newDelivery(0), BODY)
  one.onCommand = ({ kind, collection }) =>
    kind === 'insert' && collection === 'deliveries' ? Promise.reject(new Unavailable('down')) : undefined
  for (let number = 1; number <= SLOT_LIMITS.endpoint.all; number += 1)
    await expect(one.pipeline.queueDelivery(newDelivery(number), BODY)).rejects.toThrow(Unavailable)
  one.onCommand = () => undefined
  const next = newDelivery(1_000)
  await one.pipeline.queueDelivery(next, BODY)
  await advance(100)
  expect(await fixture.stored(next)).toMatchObject({ status: 'delivered' })
})

test('a destination that is used once per second is leased once, and renewed every 1.5 s', async () => {
  const { pipeline, writes } = await fixture.startProcess('one')
  for (let number = 0; number < 30; number += 1) {
    await pipeline.queueDelivery(newDelivery(number), BODY)
    await advance(1_000)
  }
  const of_destination = withoutHeartbeats(writes).filter((write) => write.endsWith('destinations'))
  const [first, ...renewals] = of_destination
  expect(first).toBe('insert destinations')
  expect(new Set(renewals)).toEqual(new Set(['replace destinations']))
  expect(renewals.length).toBeLessThanOrEqual(20)
})
