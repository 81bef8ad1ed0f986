import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { SealedEndpointSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { insertOrGet } from '#lib/patterns/update.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { deliveryKeyOf } from '../domain/delivery.ts'
import { eventBytes } from '../event.fixture.ts'
import { openNotifier, type TestNotifier } from '../notifier.fixture.ts'
import { type CheckEventsDeps, checkEvents } from './check-events.ts'
import { erasePerson } from './erase-person.ts'
import { receiveEvent } from './receive-event.ts'

let directory: string
let notifier: TestNotifier
let deps: CheckEventsDeps
/** The deliveries that were made known to their owners. */
let woken: string[]
/** The age of everything that the test stores, when the check looks. */
let later_ms: number

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-check-events-'))
  const endpoint = {
    endpointId: 'e',
    url: 'https://e.example.com/',
    enabled: true,
    events: ['payment.completed'],
  }
  notifier = await openNotifier(directory, {
    endpointsReadAfter: async () => [create(SealedEndpointSchema, { endpoint })],
  })
  later_ms = 0
  woken = []
  deps = {
    ...notifier,
    event_checks: notifier.store.event_checks,
    storeNow: () => new Date(now().getTime() + later_ms),
    pipeline: {
      async queueDelivery(delivery, _body, options) {
        await insertOrGet(notifier.deliveries, deliveryKeyOf(delivery), delivery, options)
      },
      async wake({ destination_key }) {
        woken.push(destination_key)
      },
    },
  }
})
afterEach(async () => {
  await notifier.close()
  await rm(directory, { recursive: true, force: true })
})

/** Stores events with their deliveries. */
async function store(...keys: readonly string[]): Promise<void> {
  const receiving = { ...deps, ...notifier, pipeline: deps.pipeline }
  for (const eventKey of keys) await receiveEvent(receiving, eventBytes({ eventKey }))
}

const deliveries = () => notifier.deliveries.find('key', { equals: ['7001'] }, { limit: 1_000 })

/** Deletes the delivery of an event, as if its notifier had crashed before it, and a forged receipt had been sent. */
async function loseDelivery(event_key: string): Promise<void> {
  const lost = (await deliveries()).find((delivery) => delivery.event_key === event_key)
  if (!lost) throw new Error(`there is no delivery of ${event_key}`)
  await notifier.deliveries.delete({ ...deliveryKeyOf(lost) }, lost.version)
}

async function counted(): Promise<number> {
  const series = 'multihub_events_without_deliveries_total '
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(series))
  return Number(line?.slice(series.length))
}

// O10
test('a stored event without its delivery is counted 30 s later, and gets the delivery that it would have had', async () => {
  await store('a:1', 'b:1', 'c:1')
  const before = await deliveries()
  const counted_before = await counted()
  await loseDelivery('b:1')
  await checkEvents(deps)
  expect(await deliveries()).toHaveLength(2)
  later_ms = 31_000
  await checkEvents(deps)
  expect(await counted()).toBe(counted_before + 1)
  const ids = (all: typeof before): unknown =>
    all.map(({ delivery_id, event, environment, resource_id }) => [
      delivery_id,
      event,
      environment,
      resource_id,
    ])
  expect(ids(await deliveries())).toEqual(ids(before))
})

test('a delivery that only a linearizable read shows is not missing', async () => {
  await store('a:1')
  const counted_before = await counted()
  later_ms = 31_000
  const get: CheckEventsDeps['deliveries']['get'] = async (key, options) =>
    options?.linearizable ? notifier.deliveries.get(key, options) : undefined
  await checkEvents({ ...deps, deliveries: { get } })
  expect([await counted(), woken.length]).toEqual([counted_before, 1])
})

test('a pending delivery whose write arrived after its call had failed is made known to its owner', async () => {
  await store('a:1')
  await checkEvents(deps)
  expect(woken).toEqual([])
  later_ms = 31_000
  await checkEvents(deps)
  const [delivery] = await deliveries()
  expect(woken).toEqual([delivery?.destination_key])
})

test('each event is checked once, and the next check begins behind it, also in another process', async () => {
  const keys = Array.from({ length: 70 }, (_, number) => `p-${number}:success`)
  await store(...keys)
  later_ms = 31_000
  await checkEvents(deps)
  let reads = 0
  const counting = {
    get: (...call: Parameters<CheckEventsDeps['deliveries']['get']>) => {
      reads += 1
      return notifier.deliveries.get(...call)
    },
  }
  await checkEvents({ ...deps, deliveries: counting })
  expect(reads).toBe(0)
  later_ms = 0
  // Behind the others also when it is stored in their millisecond.
  await store('q:success')
  later_ms = 62_000
  await checkEvents({ ...deps, deliveries: counting })
  expect(reads).toBe(1)
})

test('while one notifier checks, another one does not; after 15 s without progress it does', async () => {
  await store('a:1')
  await loseDelivery('a:1')
  later_ms = 31_000
  const stuck = {
    ...deps,
    pipeline: { ...deps.pipeline, queueDelivery: () => Promise.reject(new Error('the store is down')) },
  }
  await expect(checkEvents(stuck)).rejects.toThrow('the store is down')
  await checkEvents(deps)
  expect(await deliveries()).toEqual([])
  later_ms = 47_000
  await checkEvents(deps)
  expect(await deliveries()).toHaveLength(1)
})

// O11
test('an erased event that lacks its delivery gets none: it has no body any more', async () => {
  await store('a:1')
  await loseDelivery('a:1')
  await erasePerson(notifier, '7001', fullPayment().paymentId)
  later_ms = 31_000
  await checkEvents(deps)
  expect(await deliveries()).toEqual([])
})
