import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import {
  BODY,
  DELIVERED,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
} from './pipeline.fixture.ts'
import { measureWaiting } from './pipeline-metrics.ts'

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
})
afterEach(() => fixture[Symbol.dispose]())

/** The present value of a metric, with its labels as they are written; 0 when it was never set. */
async function readMetric(name: string): Promise<number> {
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(`${name} `))
  return Number(line?.split(' ').at(-1) ?? 0)
}

test('attempts, breakers, slots and the age of what is due can be watched', async () => {
  const { pipeline } = await fixture.startProcess('one')
  const delivered = 'multihub_delivery_attempts_total{environment="test",outcome="delivered"}'
  const delivered_before = await readMetric(delivered)
  await pipeline.queueDelivery(newDelivery(0, 'fine'), BODY)
  await fixture.clock.advance(300)
  expect(await readMetric(delivered)).toBe(delivered_before + 1)
  // The alert that callbacks have stopped counts production only.
  const in_production = delivered.replace('test', 'production')
  const before = await readMetric(in_production)
  await pipeline.queueDelivery(newDelivery(1, 'fine', { environment: 'production' }), BODY)
  await fixture.clock.advance(300)
  expect(await readMetric(in_production)).toBe(before + 1)
  expect(await readMetric('multihub_delivery_breakers{state="closed"}')).toBe(1)

  fixture.respond = ({ delivery }) => (delivery.endpoint_id === 'down' ? FAILED : new Promise(() => {}))
  const opened_before = await readMetric('multihub_delivery_breaker_changes_total{to="open"}')
  for (let number = 0; number < 5; number += 1)
    await pipeline.queueDelivery(newDelivery(number, 'down'), BODY)
  await fixture.clock.advance(300)
  expect(await readMetric('multihub_delivery_breakers{state="open"}')).toBe(1)
  expect(await readMetric('multihub_delivery_breaker_changes_total{to="open"}')).toBe(opened_before + 1)

  for (let number = 0; number < 100; number += 1)
    await pipeline.queueDelivery(newDelivery(number, 'hang'), BODY)
  await fixture.clock.advance(1_000)
  expect(await readMetric('multihub_delivery_slots_in_use{health="unproven"}')).toBe(32)
  await fixture.clock.advance(3_000)
  expect(await readMetric('multihub_delivery_slots_in_use{health="unproven"}')).toBe(0)
  expect(await readMetric('multihub_delivery_slots_in_use{health="sick"}')).toBe(32)
  expect(await readMetric('multihub_delivery_oldest_due_seconds{waits_in="deliveries"}')).toBeGreaterThan(3)
  fixture.respond = () => DELIVERED
})

test('the gauges are 0 again when all is delivered and the destinations are given back', async () => {
  const { pipeline } = await fixture.startProcess('one')
  const { promise, resolve } = Promise.withResolvers<AttemptOutcome>()
  fixture.respond = () => promise
  for (let number = 0; number < 40; number += 1)
    await pipeline.queueDelivery(newDelivery(number, 'hang'), BODY)
  await fixture.clock.advance(5_000)
  const readAll = () =>
    Promise.all(
      [
        'breakers{state="closed"}',
        'slots_in_use{health="sick"}',
        'slots_in_use{health="unproven"}',
        'oldest_due_seconds',
      ].map((name) => readMetric(`multihub_delivery_${name}`)),
    )
  expect(await readAll()).toEqual([1, 32, 0, expect.any(Number)])
  resolve(DELIVERED)
  await fixture.clock.advance(10_000)
  expect(await readAll()).toEqual([0, 0, 0, 0])
})

test('an outage of a receiver that cost callbacks shows as dead and held deliveries, by environment', async () => {
  const { pipeline } = await fixture.startProcess('one')
  const readDead = (cause: string): Promise<number> =>
    readMetric(`multihub_dead_deliveries_total{environment="production",cause="${cause}"}`)
  const readHeld = (environment: string, waits_for: string): Promise<number> =>
    readMetric(`multihub_waiting_deliveries{environment="${environment}",waits_for="${waits_for}"}`)
  const [failures_before, breaker_before] = [await readDead('failures'), await readDead('breaker_open')]
  const changes = { environment: 'production', max_retries: 0 } as const
  fixture.respond = () => FAILED
  fixture.hasSecret = ({ endpoint_id }) => endpoint_id !== 'new'
  for (let number = 0; number < 105; number += 1) {
    await pipeline.queueDelivery(newDelivery(number, 'down', changes), BODY)
    if (number < 5) await fixture.clock.advance(5)
  }
  await pipeline.queueDelivery(newDelivery(1, 'new', { environment: 'production' }), BODY)
  await fixture.clock.advance(20_000)
  expect(await readDead('failures')).toBe(failures_before + 5)
  expect(await readDead('breaker_open')).toBe(breaker_before + 100)
  expect([await readHeld('production', 'breaker'), await readHeld('production', 'secret')]).toEqual([100, 1])
  expect([await readHeld('test', 'breaker'), await readHeld('test', 'secret')]).toEqual([0, 0])

  // A probe that fails costs no delivery more.
  await fixture.clock.advance(30_000)
  expect(fixture.attempts).toHaveLength(6)
  expect(await readDead('breaker_open')).toBe(breaker_before + 100)
  fixture.respond = () => DELIVERED
  await fixture.clock.advance(90_000)
  expect(await readHeld('production', 'breaker')).toBe(0)
})

test('what no process has is in the age of what is due', async () => {
  const { pipeline } = await fixture.startProcess('full', { owned_max: 2 })
  fixture.respond = () => new Promise(() => {})
  for (let number = 0; number < 3; number += 1)
    await pipeline.queueDelivery(newDelivery(number, `hang${number}`), BODY)
  expect(fixture.attempts).toHaveLength(2)
  await fixture.clock.advance(10_000)
  expect(await readMetric('multihub_delivery_oldest_due_seconds{waits_in="deliveries"}')).toBeGreaterThan(9)
})

test('held deliveries are not shown while one of their reads fails', async () => {
  const none = { find: async () => [] }
  await measureWaiting(none)
  expect(await metricsText()).toMatch(/^multihub_waiting_deliveries\{/m)
  let reads = 0
  const find = async () => {
    reads += 1
    if (reads > 2) throw new Error('the store does not answer')
    return []
  }
  await expect(measureWaiting({ find })).rejects.toThrow('does not answer')
  expect(await metricsText()).not.toMatch(/^multihub_waiting_deliveries\{/m)
})
