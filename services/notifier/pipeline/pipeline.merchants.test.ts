import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
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
  type SeenAttempt,
  type TestProcess,
} from './pipeline.fixture.ts'
import { SLOT_LIMITS } from './slots.ts'

const TIMEOUT_MS = 30_000
const TIMED_OUT: AttemptOutcome = {
  kind: 'ended',
  result: { started_at: new Date(0), duration_ms: TIMEOUT_MS, failure: 'timeout' },
}

let fixture: PipelineFixture
let notifier: TestProcess
beforeEach(async () => {
  fixture = await openPipelines()
  notifier = await fixture.startProcess('one')
  fixture.respond = respond
})
afterEach(() => fixture[Symbol.dispose]())

const advance = (ms: number): Promise<void> => fixture.clock.advance(ms)

/** Hosts that hang time out; slow ones succeed just before they count as such that hang. */
async function respond({ delivery: { url } }: SeenAttempt): Promise<AttemptOutcome> {
  if (url.includes('hang')) {
    await sleep(TIMEOUT_MS)
    return TIMED_OUT
  }
  if (url.includes('slow')) await sleep(1_900)
  return DELIVERED
}

/** Stores deliveries of a merchant, each to a URL of its own at a host. */
async function deliverToUrls(
  count: number,
  merchant_id: string,
  host: string,
  changes: Partial<Delivery> = {},
): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const url = `https://${host.replace('*', `${number}`)}/${number}`
    const delivery = newDelivery(number, `${merchant_id}-${host}-${number}`, { merchant_id, url, ...changes })
    await notifier.pipeline.queueDelivery(delivery, BODY)
  }
}

/** Stores deliveries, and measures after how long each of them has its first attempt. */
async function delaysOf(deliveries: readonly Delivery[], wait_max_ms = 60_000): Promise<number[]> {
  const at_ms = fixture.clock.now_ms()
  for (const delivery of deliveries) await notifier.pipeline.queueDelivery(delivery, BODY)
  const firsts = () =>
    deliveries.map(({ delivery_id }) =>
      fixture.attempts.find((seen) => seen.delivery.delivery_id === delivery_id && seen.at_ms >= at_ms),
    )
  await advance(1)
  while (firsts().includes(undefined) && fixture.clock.now_ms() - at_ms < wait_max_ms) await advance(100)
  return firsts().map((seen) => (seen === undefined ? Number.POSITIVE_INFINITY : seen.at_ms - at_ms))
}

// N10
describe('merchants take turns', () => {
  test('at a host that others keep busy with a URL per payment', async () => {
    for (const merchant_id of ['7001', '7003']) await deliverToUrls(600, merchant_id, 'slow.example.com')
    const url = 'https://slow.example.com/other'
    const [delay_ms] = await delaysOf([newDelivery(1, 'other', { merchant_id: '7002', url })])
    expect(delay_ms).toBeLessThanOrEqual(1_900)
  })

  test('at a host whose other receivers hang, after one failure too', async () => {
    const url = 'https://hang.example.com/'
    let failures = 0
    fixture.respond = async (seen) => {
      if (seen.delivery.merchant_id === '7001') return await respond(seen)
      failures += 1
      return failures === 1 ? FAILED : DELIVERED
    }
    await deliverToUrls(200, '7001', 'hang.example.com')
    await advance(5_000)
    // They are sick now. Each has more to do than the host has slots for sick ones.
    for (let number = 200; number < 800; number += 1) {
      const destination = `7001-hang.example.com-${number % 200}`
      await notifier.pipeline.queueDelivery(
        newDelivery(number, destination, { url: `${url}${number % 200}` }),
        BODY,
      )
    }
    const [first, ...others] = Array.from({ length: 10 }, (_, number) =>
      newDelivery(number, 'other', { merchant_id: '7002', url, retry_delay_seconds: 3_600 }),
    )
    if (first === undefined) throw new Error('there is no delivery')
    const [first_delay_ms] = await delaysOf([first])
    // Its destination is sick now, and shares the slots of the host that those that hang have.
    const delays_ms = await delaysOf(others)
    expect(first_delay_ms).toBeLessThanOrEqual(1)
    expect(Math.max(...delays_ms)).toBeLessThanOrEqual(TIMEOUT_MS)
  })

  test('with test apart from production', async () => {
    for (const environment of ['test', 'production'] as const)
      await deliverToUrls(1, '7001', `ok-${environment}.example.com`, { environment })
    await deliverToUrls(700, '7001', 'hang-*.example.com', { environment: 'test' })
    const production = Array.from({ length: 10 }, (_, number) =>
      newDelivery(number, 'other', { environment: 'production' }),
    )
    expect(Math.max(...(await delaysOf(production)))).toBeLessThanOrEqual(1)
  })
})

// N10
describe('destinations without a success', () => {
  /** Lets 16 merchants use all their slots for unproven destinations: together as many as the process has. */
  async function fillUnproven(): Promise<void> {
    const { process, merchant } = SLOT_LIMITS
    for (let number = 0; number * merchant.unproven < process.all; number += 1)
      await deliverToUrls(merchant.unproven, `hang-${number}`, `hang-${number}-*.example.com`)
    await advance(5_000)
  }

  test('of a few merchants leave slots to others that are new too', async () => {
    for (let number = 0; number < 4; number += 1)
      await deliverToUrls(600, `${number}`, `hang-${number}-*.example.com`)
    await advance(5_000)
    const [delay_ms] = await delaysOf([newDelivery(1, 'other', { merchant_id: '7002' })])
    expect(delay_ms).toBeLessThanOrEqual(1)
  })

  test.each([
    ['in the same process', async () => {}],
    [
      'also in another process',
      async () => {
        // Without anything to do its destination is given back. From now on its document says that it had a success.
        await advance(10_000)
        notifier.kill()
        notifier = await fixture.startProcess('two')
      },
    ],
  ])('never use up the slots of those that had one, %s', async (_name, change) => {
    const [first, second] = [1, 2].map((number) => newDelivery(number, 'known', { merchant_id: '7002' }))
    if (first === undefined || second === undefined) throw new Error('a delivery is missing')
    await delaysOf([first])
    await change()
    await fillUnproven()
    expect(fixture.attempts).toHaveLength(1 + SLOT_LIMITS.process.unproven)
    const unknown = newDelivery(1, 'unknown', { merchant_id: '7003' })
    const [known_ms, unknown_ms] = await delaysOf([second, unknown])
    expect(known_ms).toBeLessThanOrEqual(1)
    expect(unknown_ms).toBeGreaterThan(1_000)
  })
})
