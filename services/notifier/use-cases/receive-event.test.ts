import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { SealedEndpointSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { deepFreeze } from '#lib/base/deep-freeze.ts'
import { isUuid } from '#lib/base/ids.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { sealEvent } from '#lib/patterns/sealed-event.ts'
import { insertOrGet } from '#lib/patterns/update.ts'
import type { InsertOptions, Stored } from '#lib/store/store.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import { eventBytes, paymentEvent } from '../event.fixture.ts'
import { keys, openNotifier, type TestNotifier, WEBHOOK_OWNER } from '../notifier.fixture.ts'
import { type ReceiveEventDeps, receiveEvent, receiveEventByCall } from './receive-event.ts'

type Endpoints = Awaited<ReturnType<ReceiveEventDeps['endpointsReadAfter']>>

let directory: string
let notifier: StoringNotifier
let findEndpoints: () => Promise<Endpoints>
let endpoint_reads: Date[]

function endpoint(endpointId: string, changes: { enabled?: boolean; events?: string[] } = {}) {
  const { enabled = true, events = ['payment.completed', 'payment.created'] } = changes
  const url = `https://${endpointId}.example.com/`
  const limits = { timeoutSeconds: 5, maxRetries: 1, retryDelaySeconds: 2 }
  return create(SealedEndpointSchema, { endpoint: { endpointId, url, enabled, events, ...limits } })
}

function setEndpoints(...endpoints: ReturnType<typeof endpoint>[]): void {
  const frozen = deepFreeze(endpoints)
  findEndpoints = async () => frozen
}

function setEndpointsUnavailable(): void {
  findEndpoints = () => Promise.reject(new PublicError(2002))
}

type StoringNotifier = ReceiveEventDeps & Pick<TestNotifier, 'deliveries' | 'storeNow' | 'close'>

/** Opens a notifier that stores deliveries and sends nothing, because these tests look at what is stored. */
async function open(endpointsReadAfter: ReceiveEventDeps['endpointsReadAfter']): Promise<StoringNotifier> {
  const opened = await openNotifier(directory, { endpointsReadAfter })
  const pipeline = {
    async queueDelivery(delivery: Delivery, _body: Uint8Array, options?: InsertOptions) {
      await insertOrGet(opened.deliveries, deliveryKeyOf(delivery), delivery, options)
    },
  }
  return { ...opened, pipeline }
}

const deliveries = (): Promise<Stored<Delivery>[]> =>
  notifier.deliveries.find('key', { equals: ['7001'] }, { limit: 100 })
const deliveryIds = async (): Promise<string[]> => (await deliveries()).map(({ delivery_id }) => delivery_id)

/** Deletes a stored delivery, as if its process had crashed before it was inserted. */
async function removeDelivery(delivery: Stored<Delivery> | undefined): Promise<void> {
  const { merchant_id = '', delivery_id = '', version = 0 } = delivery ?? {}
  await notifier.deliveries.delete({ merchant_id, delivery_id }, version)
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-receive-event-'))
  setEndpoints(endpoint('one'), endpoint('two'))
  endpoint_reads = []
  notifier = await open(async (_merchant_id, _environment, instant) => {
    endpoint_reads.push(instant)
    return findEndpoints()
  })
})
afterEach(async () => {
  await notifier.close()
  await rm(directory, { recursive: true, force: true })
})

describe('an event from the bus', () => {
  const key = { merchant_id: '7001', event_key: '019aa5b0-7c00-7000-8000-000000000001:3' }

  // N1
  test('is stored with its body, and gets a delivery for each endpoint that lists it', async () => {
    setEndpoints(
      endpoint('one'),
      endpoint('off', { enabled: false }),
      endpoint('other', { events: ['payment.failed', 'payment.*', '*'] }),
      endpoint('two'),
    )
    expect(await receiveEvent(notifier, eventBytes())).toBe(key.event_key)
    const stored = await notifier.events.get(key)
    expect(JSON.parse(Buffer.from(stored?.body ?? '').toString())).toMatchObject({ merchant_id: '7001' })
    const created = await deliveries()
    expect(created.map(({ endpoint_id }) => endpoint_id).sort()).toEqual(['one', 'two'])
    expect(created.map(({ delivery_id }) => delivery_id).sort()).toEqual(
      stored?.destinations.map(({ delivery_id }) => delivery_id).sort(),
    )
    expect(created.find(({ endpoint_id }) => endpoint_id === 'one')).toMatchObject({
      status: 'pending',
      url: 'https://one.example.com/',
      timeout_seconds: 5,
      max_retries: 1,
      retry_delay_seconds: 2,
      destination_key: 'endpoint:one',
      try_kind: 'first',
      attempts: [],
      tries: 0,
    })
    expect(created.every((delivery) => !('secret' in delivery))).toBe(true)
  })

  // Otherwise its publisher would drop it.
  test('is not received while one of its deliveries cannot be stored', async () => {
    const { pipeline } = notifier
    const queueDelivery: typeof pipeline.queueDelivery = (delivery, ...rest) =>
      delivery.endpoint_id === 'two'
        ? Promise.reject(new Unavailable('the store is unavailable'))
        : pipeline.queueDelivery(delivery, ...rest)
    const failing = { ...notifier, pipeline: { queueDelivery } }
    await expect(receiveEvent(failing, eventBytes())).rejects.toThrow(Unavailable)
    await expect(receiveEventByCall(failing, paymentEvent())).rejects.toThrow(Unavailable)
    expect(await receiveEvent(notifier, eventBytes())).toBe(key.event_key)
    expect(await deliveries()).toHaveLength(2)
  })

  // The replay by filter compares with this clock, and another process may store what a crash left missing.
  test('has the times of the clock of the store, also when that of its process is wrong', async () => {
    const at = new Date('2030-01-01T00:00:00.000Z')
    await receiveEvent({ ...notifier, storeNow: () => at }, eventBytes())
    const kept_until = new Date(at.getTime() + notifier.retention_ms)
    expect(await notifier.events.get(key)).toMatchObject({ created_at: at, kept_until })
    expect((await deliveries()).map(({ created_at, due_at }) => [created_at, due_at])).toEqual([
      [at, at],
      [at, at],
    ])
  })

  test('has a stable id in its body, and a request id that is new for each event', async () => {
    await receiveEvent(notifier, eventBytes())
    await receiveEvent(notifier, eventBytes({ eventKey: 'other:1' }))
    const [first, second] = await Promise.all(
      [key.event_key, 'other:1'].map(async (event_key) => {
        const stored = await notifier.events.get({ merchant_id: '7001', event_key })
        return JSON.parse(Buffer.from(stored?.body ?? '').toString())
      }),
    )
    expect(first.id).toBe(second.id)
    expect(isUuid(first.data.request_id)).toBe(true)
    expect(first.data.request_id).not.toBe(second.data.request_id)
  })

  test('received repeatedly, also ten times at once, is stored and delivered once', async () => {
    await receiveEvent(notifier, eventBytes())
    const first = await deliveries()
    const again = Array.from({ length: 10 }, () => receiveEvent(notifier, eventBytes()))
    expect(new Set(await Promise.all(again))).toEqual(new Set([key.event_key]))
    expect(await deliveries()).toEqual(first)
    const other = Array.from({ length: 10 }, () =>
      receiveEvent(notifier, eventBytes({ eventKey: 'other:1' })),
    )
    await Promise.all(other)
    expect(await deliveries()).toHaveLength(4)
  })

  test('received by two processes at once is stored and delivered once', async () => {
    const second = await open(async () => deepFreeze([endpoint('three')]))
    const both = [notifier, second, notifier, second].map((one) => receiveEvent(one, eventBytes()))
    await Promise.all(both)
    const stored = await notifier.events.get(key)
    expect((await deliveryIds()).sort()).toEqual(
      stored?.destinations.map(({ delivery_id }) => delivery_id).sort(),
    )
    await second.close()
  })

  test('keeps its first destinations when it is published again after the endpoints changed', async () => {
    await receiveEvent(notifier, eventBytes())
    const first = await deliveries()
    setEndpoints(endpoint('two', { enabled: false }), endpoint('three'))
    await receiveEvent(notifier, eventBytes())
    expect(await deliveries()).toEqual(first)
  })

  test('gets its missing deliveries when it is published again after a crash', async () => {
    await receiveEvent(notifier, eventBytes())
    const before = await deliveries()
    await removeDelivery(before[1])
    await receiveEvent(notifier, eventBytes())
    expect(await deliveryIds()).toEqual(before.map(({ delivery_id }) => delivery_id))
  })

  test('gets its missing deliveries also when all its endpoints have gone since', async () => {
    await receiveEvent(notifier, eventBytes())
    const before = await deliveries()
    await removeDelivery(before[1])
    setEndpoints()
    await receiveEvent(notifier, eventBytes())
    expect(await deliveryIds()).toEqual(before.map(({ delivery_id }) => delivery_id))
  })

  // N3
  test('has delivery ids that follow from the event and the destination', async () => {
    const data = eventBytes()
    await receiveEvent(notifier, data)
    const before = await deliveryIds()
    const stored = await notifier.events.get(key)
    await notifier.events.delete(key, stored?.version ?? 0)
    await receiveEvent(notifier, data)
    expect(await deliveryIds()).toEqual(before)
  })

  test('has delivery ids that sort by the time of the event, so that new ones are stored next to each other', async () => {
    const createdAt = (iso: string) => timestampFromDate(new Date(iso))
    const times = ['2026-11-22T10:00:00.001Z', '2026-11-22T10:00:00.002Z', '2027-01-01T00:00:00Z']
    for (const time of times.toReversed())
      await receiveEvent(notifier, eventBytes({ eventKey: time, createTime: createdAt(time) }))
    const stored = await deliveries()
    expect(stored.map(({ event_key }) => event_key)).toEqual(times.flatMap((time) => [time, time]))
    expect(stored.every(({ delivery_id }) => isUuid(delivery_id))).toBe(true)
  })

  // N1
  test('of a payment with a webhook_url goes there only, and reads no endpoints', async () => {
    const webhook = {
      url: 'https://own.example.com/',
      sealedSecret: keys.webhook.seal(newSecret(), WEBHOOK_OWNER),
      secretOwner: WEBHOOK_OWNER,
    }
    await receiveEvent(notifier, eventBytes({ webhook }))
    expect(await deliveries()).toMatchObject([
      { url: 'https://own.example.com/', timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 },
    ])
    expect(endpoint_reads).toEqual([])
  })

  test('that no endpoint lists is acknowledged and not stored', async () => {
    setEndpoints()
    expect(await receiveEvent(notifier, eventBytes())).toBe(key.event_key)
    expect(await notifier.events.get(key)).toBeUndefined()
    expect(endpoint_reads).toHaveLength(1)
  })

  test('that no endpoint lists is acknowledged even if its resource is of a newer version', async () => {
    setEndpoints()
    expect(await receiveEvent(notifier, eventBytes({ resource: { case: undefined } }))).toBe(key.event_key)
    expect(await notifier.events.get(key)).toBeUndefined()
  })

  // O10: the subject says whose key has signed it.
  test('that came on the subject of another event is rejected', async () => {
    await expect(receiveEvent(notifier, eventBytes(), 'events.payment.created')).rejects.toThrow(TypeError)
    expect(await deliveries()).toEqual([])
    expect(await receiveEvent(notifier, eventBytes(), 'events.payment.completed')).toBe(key.event_key)
  })

  // O10: the first body under a key is the one that is delivered.
  test('with the key of an event of another role is rejected, so that the true one is delivered', async () => {
    setEndpoints(
      endpoint('one', { events: ['payment.completed', 'refund.status_changed', 'ticket.created'] }),
    )
    const eventKey = 'p-1:success'
    const stolen = eventBytes({ eventKey, event: 'refund.status_changed' })
    await expect(receiveEvent(notifier, stolen, 'events.refund.status_changed')).rejects.toThrow(TypeError)
    const taken = eventBytes({ eventKey: 't-1:ticket.created' })
    await expect(receiveEvent(notifier, taken, 'events.payment.completed')).rejects.toThrow(TypeError)
    const other = eventBytes({ eventKey: 't-1:refund.requested', event: 'ticket.created' })
    await expect(receiveEvent(notifier, other, 'events.ticket.created')).rejects.toThrow(TypeError)
    expect(await deliveries()).toEqual([])
    await receiveEvent(notifier, eventBytes({ eventKey }), 'events.payment.completed')
    const ticket = eventBytes({ eventKey: 't-1:ticket.updated:4', event: 'ticket.updated' })
    expect(await receiveEvent(notifier, ticket, 'events.ticket.updated')).toBe('t-1:ticket.updated:4')
    expect((await deliveries()).map(({ event }) => event)).toEqual(['payment.completed'])
  })

  test.each([
    ['no key', eventBytes({ eventKey: '' })],
    ['no environment', eventBytes({ environment: 0 })],
    ['no resource', eventBytes({ resource: { case: undefined } })],
    ['undecodable bytes', Buffer.from('nonsense')],
  ])('with %s is rejected, so that no receipt is sent', async (_name, bytes) => {
    await expect(receiveEvent(notifier, bytes)).rejects.toThrow()
    expect(await deliveries()).toEqual([])
  })
})

describe('an event from an RPC', () => {
  const key = { merchant_id: '7001', event_key: 'request-1' }
  const receive = (event = 'payment.completed'): Promise<string[]> =>
    receiveEventByCall(notifier, paymentEvent({ eventKey: key.event_key, event }))

  test('gets a delivery for each destination, and returns their ids', async () => {
    const ids = await receive()
    expect(ids).toHaveLength(2)
    expect((await deliveryIds()).sort()).toEqual([...ids].sort())
  })

  // O11: publishers send it as they store it, with its payment sealed.
  test('is stored with its sealed payment opened', async () => {
    const event = paymentEvent({ eventKey: key.event_key })
    const sealed = sealEvent(toBinary(MerchantEventSchema, event), notifier.person)
    expect(await receiveEventByCall(notifier, fromBinary(MerchantEventSchema, sealed))).toHaveLength(2)
    expect((await notifier.events.get(key))?.body).toBeDefined()
  })

  test('keeps its deliveries when its key is repeated after endpoints and payment changed', async () => {
    const ids = await receive()
    const before = await deliveries()
    const { body } = (await notifier.events.get(key)) ?? {}
    setEndpoints(endpoint('three'))
    expect(await receive('payment.created')).toEqual(ids)
    setEndpoints()
    expect(await receive()).toEqual(ids)
    setEndpointsUnavailable()
    expect(await receive()).toEqual(ids)
    expect(await deliveries()).toEqual(before)
    expect((await notifier.events.get(key))?.body).toEqual(body)
  })

  test('is stored once by concurrent calls in two processes', async () => {
    const second = await open(async () => deepFreeze([endpoint('three')]))
    const event = paymentEvent({ eventKey: key.event_key })
    const callers = [notifier, second, notifier, second, notifier, second]
    const results = await Promise.all(callers.map((caller) => receiveEventByCall(caller, event)))
    expect(new Set(results.map((ids) => ids.join())).size).toBe(1)
    expect((await deliveryIds()).sort()).toEqual([...(results[0] ?? [])].sort())
    await second.close()
  })

  test('gets its missing deliveries under the same ids when it is repeated after a crash', async () => {
    const ids = await receive()
    const lost = (await deliveries()).find(({ delivery_id }) => delivery_id === ids[1])
    if (!lost) throw new Error('there is no second delivery')
    await removeDelivery(lost)
    expect(await receive('payment.created')).toEqual(ids)
    const again = (await deliveries()).find(({ delivery_id }) => delivery_id === ids[1])
    // The body names the event of the first request, so the delivery has to name the same one.
    expect(again).toMatchObject({ event: 'payment.completed', url: lost.url })
  })

  test('without a destination is received and stored nowhere, and can be stored later', async () => {
    setEndpoints()
    expect(await receive()).toEqual([])
    expect(await notifier.events.get(key)).toBeUndefined()
    expect(await deliveries()).toEqual([])
    setEndpoints(endpoint('one'))
    expect(await receive()).toHaveLength(1)
  })

  test('is refused without a key, without an environment, and while the merchants service is unavailable', async () => {
    await expect(receiveEventByCall(notifier, paymentEvent({ eventKey: '' }))).rejects.toThrow(TypeError)
    await expect(receiveEventByCall(notifier, paymentEvent({ environment: 0 }))).rejects.toThrow(TypeError)
    setEndpointsUnavailable()
    await expect(receive()).rejects.toMatchObject({ code: 2002 })
    expect(await notifier.events.get(key)).toBeUndefined()
  })
})
