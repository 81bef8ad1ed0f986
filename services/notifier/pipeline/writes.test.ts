import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BODY, newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'

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

test('a URL that is used once costs five writes besides that of its event', async () => {
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
