import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import {
  BODY,
  FAILED,
  newDelivery,
  openPipelines,
  type PipelineFixture,
} from '../pipeline/pipeline.fixture.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { getDestination, type ListDestinationsDeps, listDestinations } from './list-destinations.ts'

let fixture: PipelineFixture
let pipeline: Pipeline
let deps: ListDestinationsDeps
beforeEach(async () => {
  fixture = await openPipelines()
  ;({ pipeline } = await fixture.startProcess('one'))
  const { deliveries, destinations } = fixture.store
  deps = { deliveries, destinations, storeNow: now }
})
afterEach(() => fixture[Symbol.dispose]())

/** Fails deliveries at a destination; five open its breaker. */
async function fail(name: string, count: number): Promise<void> {
  fixture.respond = () => FAILED
  for (let number = 1; number <= count; number += 1) {
    await pipeline.queueDelivery(newDelivery(number, name, { max_retries: 0 }), BODY)
    await fixture.clock.advance(100)
  }
}

const keysOf = async (state?: 'open' | 'closed' | 'half_open') =>
  (await listDestinations(deps, state, { page_size: 0, page_token: '' })).destinations.map(
    ({ destination }) => destination.destination_key,
  )

// N5
test('lists destinations by the state of their breakers, with what waits there', async () => {
  await fail('fine', 1)
  await fail('sick', 5)
  expect(await keysOf()).toEqual(['endpoint:fine', 'endpoint:sick'])
  expect([await keysOf('open'), await keysOf('half_open'), await keysOf('closed')]).toEqual([
    ['endpoint:sick'],
    [],
    ['endpoint:fine'],
  ])
  // One of the five has used its tries at the open breaker.
  await pipeline.queueDelivery(newDelivery(6, 'sick', { max_retries: 0 }), BODY)
  await fixture.clock.advance(100)
  const { destinations } = await listDestinations(deps, 'open', { page_size: 10, page_token: '' })
  expect(destinations).toMatchObject([
    {
      state: 'open',
      destination: { merchant_id: '7001', breaker: { failures: 5 } },
      example: { attempts: [{ failure: 'breaker_open' }] },
      pending_count: 0,
      waiting_count: 1,
    },
  ])
})

// N5
test('one destination is read by its key, and an unknown key is refused by name', async () => {
  await fail('sick', 5)
  expect(await getDestination(deps, 'endpoint:sick')).toMatchObject({ state: 'open' })
  await expect(getDestination(deps, 'endpoint:none')).rejects.toMatchObject({
    code: 1003,
    details: { description: 'destination_key' },
  })
})

// O19
test('pages have each destination once, and the last one has no token', async () => {
  for (const name of ['a', 'b', 'c']) await fail(name, 5)
  for (const state of [undefined, 'open'] as const) {
    const keys: string[] = []
    let page_token = ''
    do {
      const page = await listDestinations(deps, state, { page_size: 2, page_token })
      keys.push(...page.destinations.map(({ destination }) => destination.destination_key))
      page_token = page.next_page_token
    } while (page_token !== '')
    expect(keys.sort()).toEqual(['endpoint:a', 'endpoint:b', 'endpoint:c'])
  }
})

// O19
test('refuses a page size and a page token that it did not make', async () => {
  await fail('a', 5)
  await fail('b', 5)
  const { next_page_token } = await listDestinations(deps, 'open', { page_size: 1, page_token: '' })
  await expect(
    listDestinations(deps, 'half_open', { page_size: 1, page_token: next_page_token }),
  ).rejects.toMatchObject({
    code: 9000,
  })
  await expect(listDestinations(deps, undefined, { page_size: 1_001, page_token: '' })).rejects.toMatchObject(
    {
      code: 9000,
    },
  )
})
