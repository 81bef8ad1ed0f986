import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { type Delivery, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { Replay } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { eventually, nextMillisecond } from '../../test/support/eventually.ts'
import { type ReceiverResponse, signatureV3 } from '../../test/support/receiver.ts'
import { type NotifierSystem, startNotifierSystem } from './notifier-system.fixture.ts'
import { openNotifierStore, openReplays } from './store/notifier-store.ts'

const { DEAD, DELIVERED } = DeliveryStatus

let system: NotifierSystem
beforeAll(async () => {
  system = await startNotifierSystem()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** A merchant with one endpoint, which allows one retry, and its receiver. */
async function newShop(respond: (count: number) => ReceiverResponse, events: string[] = []) {
  const receiver = await system.newReceiver(respond)
  const merchantId = await system.newMerchant()
  const { endpoint, secret } = await system.newEndpoint(merchantId, receiver.url, events)
  return { merchantId, endpointId: endpoint?.endpointId ?? '', secret, receiver }
}

/** Publishes events about new payments; returns the ids of the payments. */
async function publish(merchantId: string, count: number, event = 'payment.completed'): Promise<string[]> {
  const paymentIds: string[] = []
  while (paymentIds.length < count) paymentIds.push(await system.publish(merchantId, { event }))
  return paymentIds
}

/** Waits until this many deliveries of a merchant have a status. */
async function waitFor(merchantId: string, status: DeliveryStatus, count: number): Promise<Delivery[]> {
  const { deliveries: listed } = await eventually(
    () => system.deliveries.listDeliveries({ merchantId, status, pageSize: 100 }),
    (page) => page?.deliveries.length === count,
  )
  return listed
}

const endOf = ({ replayId = '' }: Partial<Replay> = {}) =>
  eventually(
    async () => (await system.deliveries.getReplay({ replayId })).replay,
    (replay) => replay?.endTime !== undefined,
  )

// N6
describe('the replay of one delivery', () => {
  test('sends it again under its old id, with fresh tries', async () => {
    const { merchantId, receiver } = await newShop((count) => ({ status: count <= 3 ? 500 : 200 }))
    await publish(merchantId, 1)
    const [dead] = await waitFor(merchantId, DEAD, 1)
    const { deliveryId = '' } = dead ?? {}
    await system.deliveries.replayDelivery({ deliveryId })
    await waitFor(merchantId, DELIVERED, 1)
    const { delivery } = await system.deliveries.getDelivery({ deliveryId })
    expect(delivery?.attempts.map(({ number, httpStatus }) => [number, httpStatus])).toEqual([
      [1, 500],
      [2, 500],
      [3, 500],
      [4, 200],
    ])
    expect(new Set(receiver.callbacks.map(({ headers }) => headers['x-webhook-id']))).toEqual(
      new Set([deliveryId]),
    )
    expect(new Set(receiver.callbacks.map(({ raw }) => raw.toString())).size).toBe(1)
  })

  // N3: equal JSON, but other bytes when it is parsed and written again.
  test('sends the bytes of the event as they are stored, and signs exactly these', async () => {
    const { merchantId, receiver, secret } = await newShop((count) => ({ status: count <= 2 ? 500 : 200 }))
    const [paymentId] = await publish(merchantId, 1)
    const [dead] = await waitFor(merchantId, DEAD, 1)
    const { events } = await openNotifierStore(system.roles.storeOf('notifier'), system.roles.keys.person)
    const key = { merchant_id: merchantId, event_key: `${paymentId}:3` }
    const event = await events.get(key)
    if (event === undefined) throw new Error('the event is not stored')
    const body = Buffer.from('{ "data" : 1.0, "id" : "\\u0031", "2" : 12345678901234567890, "1" : 0 }\n')
    await events.replace({ ...event, body }, event.version)
    await system.deliveries.replayDelivery({ deliveryId: dead?.deliveryId ?? '' })
    await waitFor(merchantId, DELIVERED, 1)
    const callback = receiver.callbacks.at(-1)
    if (callback === undefined) throw new Error('no callback was received')
    expect(callback.raw).toEqual(body)
    expect(callback.headers['x-webhook-signature-v3']).toBe(signatureV3(secret, callback))
  })

  test('goes to the present URL of its endpoint', async () => {
    const { merchantId, endpointId } = await newShop(() => ({ status: 503 }))
    const moved = await system.newReceiver()
    await publish(merchantId, 1)
    const [dead] = await waitFor(merchantId, DEAD, 1)
    await system.roles.client(EndpointService, 'backoffice').updateEndpoint({ endpointId, url: moved.url })
    await eventually(
      async () => {
        await system.deliveries.replayDelivery({ deliveryId: dead?.deliveryId ?? '' }).catch(() => {})
        return moved.callbacks.length
      },
      (received) => received === 1,
    )
    expect(moved.callbacks[0]?.headers['x-webhook-id']).toBe(dead?.deliveryId)
  })

  // O12
  test('is queued once per operation_id, whatever became of it', async () => {
    const { merchantId, receiver } = await newShop(() => ({ status: 500 }))
    await publish(merchantId, 1)
    const [dead] = await waitFor(merchantId, DEAD, 1)
    const { deliveryId = '' } = dead ?? {}
    const replay = (fields: object) => system.deliveries.replayDelivery({ deliveryId, ...fields })
    const sent = receiver.callbacks.length
    await replay({ operationId: 'a' })
    await waitFor(merchantId, DEAD, 1)
    const resent = receiver.callbacks.length
    expect(resent).toBeGreaterThan(sent)
    expect((await replay({ operationId: 'a' })).delivery).toMatchObject({ status: DEAD })
    await expect(replay({ operationId: 'a', queueAnyway: true })).rejects.toMatchObject({ code: 1013 })
    expect(receiver.callbacks).toHaveLength(resent)
    await replay({ operationId: 'b', queueAnyway: true })
    await waitFor(merchantId, DEAD, 1)
  })

  test('is refused when it was delivered or does not exist', async () => {
    const { merchantId, receiver } = await newShop(() => ({ status: 200 }))
    await publish(merchantId, 1)
    const [delivered] = await waitFor(merchantId, DELIVERED, 1)
    const { deliveryId = '' } = delivered ?? {}
    await expect(system.deliveries.replayDelivery({ deliveryId })).rejects.toMatchObject({ code: 9000 })
    await expect(system.deliveries.replayDelivery({ deliveryId: uuidv7() })).rejects.toMatchObject({
      code: 1003,
    })
    await expect(system.deliveries.replayDelivery({})).rejects.toMatchObject({ code: 1005 })
    expect(receiver.callbacks).toHaveLength(1)
  })
})

// N6
describe('the replay of deliveries by filter', () => {
  test('counts them without sending anything in a dry run, then queues them all', async () => {
    let is_up = false
    const shop = await newShop(() => ({ status: is_up ? 200 : 500 }), ['payment.completed', 'payment.failed'])
    const other = await newShop(() => ({ status: 500 }))
    const { merchantId, receiver } = shop
    // Four failed attempts: one more would open the breaker.
    await publish(merchantId, 1)
    await publish(merchantId, 1, 'payment.failed')
    await publish(other.merchantId, 1)
    await waitFor(merchantId, DEAD, 2)
    await waitFor(other.merchantId, DEAD, 1)
    const sent = receiver.callbacks.length

    const dry = await system.deliveries.replayDeliveries({ filter: { merchantId }, dryRun: true })
    expect(await endOf(dry.replay)).toMatchObject({ matched: 2, queued: 0, dryRun: true })
    expect(receiver.callbacks).toHaveLength(sent)

    is_up = true
    const some = await system.deliveries.replayDeliveries({ filter: { merchantId, event: 'payment.failed' } })
    expect(await endOf(some.replay)).toMatchObject({
      matched: 1,
      queued: 1,
      filter: { event: 'payment.failed' },
    })
    await waitFor(merchantId, DELIVERED, 1)
    const all = await system.deliveries.replayDeliveries({
      filter: { merchantId, endpointId: shop.endpointId },
    })
    expect(await endOf(all.replay)).toMatchObject({ matched: 1, queued: 1 })
    await waitFor(merchantId, DELIVERED, 2)
    const again = await system.deliveries.replayDeliveries({ filter: { merchantId } })
    expect(await endOf(again.replay)).toMatchObject({ matched: 0, queued: 0 })
    await waitFor(other.merchantId, DEAD, 1)
  })

  // O12
  test('begins once per merchant and operation_id, also when the answer was lost', async () => {
    const { merchantId } = await newShop(() => ({ status: 500 }))
    await publish(merchantId, 1)
    await waitFor(merchantId, DEAD, 1)
    const begin = (fields: object) =>
      system.deliveries.replayDeliveries({ filter: { merchantId }, operationId: 'a', ...fields })
    const dry = await begin({ dryRun: true })
    const begun = await Promise.all([begin({}), begin({})])
    const ids = begun.map(({ replay }) => replay?.replayId)
    expect([new Set(ids).size, ids[0] === dry.replay?.replayId]).toEqual([1, false])
    expect(await endOf(begun[0]?.replay)).toMatchObject({ matched: 1, queued: 1 })
    await waitFor(merchantId, DEAD, 1)
    const again = await begin({})
    expect(again.replay).toMatchObject({ replayId: ids[0], queued: 1, endTime: expect.anything() })
    for (const other of [{ queueAnyway: true }, { filter: { merchantId, event: 'payment.failed' } }])
      await expect(begin(other)).rejects.toMatchObject({ code: 1013 })
    const other_shop = await newShop(() => ({ status: 500 }))
    const another = await begin({ filter: { merchantId: other_shop.merchantId } })
    expect(another.replay?.replayId).not.toBe(ids[0])
  })

  test('selects by payment, environment and time of creation', async () => {
    const { merchantId } = await newShop(() => ({ status: 500 }))
    const [paymentId] = await publish(merchantId, 1)
    await nextMillisecond()
    await publish(merchantId, 1)
    const [newest, oldest] = await waitFor(merchantId, DEAD, 2)
    const matched = async (filter: object): Promise<number | undefined> =>
      (
        await endOf(
          (
            await system.deliveries.replayDeliveries({ filter: { merchantId, ...filter }, dryRun: true })
          ).replay,
        )
      )?.matched
    expect(await matched({ paymentId })).toBe(1)
    expect(await matched({ environment: Environment.TEST })).toBe(2)
    expect(await matched({ environment: Environment.PRODUCTION })).toBe(0)
    expect(await matched({ createdFrom: newest?.createTime })).toBe(1)
    expect(await matched({ createdTo: newest?.createTime })).toBe(1)
    expect(await matched({ createdTo: oldest?.createTime })).toBe(0)
    const { deliveries: listed } = await system.deliveries.listDeliveries({
      merchantId,
      createdFrom: oldest?.createTime,
      createdTo: newest?.createTime,
    })
    expect(listed.map(({ deliveryId }) => deliveryId)).toEqual([oldest?.deliveryId])
  })

  test('goes on in another notifier when its own has crashed', async () => {
    const { merchantId: merchant_id } = await newShop(() => ({ status: 500 }))
    await publish(merchant_id, 2)
    await waitFor(merchant_id, DEAD, 2)
    const replays = await openReplays(system.roles.storeOf('notifier'))
    const at = now()
    const replay_id = uuidv7()
    await replays.insert({
      replay_id,
      merchant_id,
      created_to: at,
      is_dry_run: true,
      matched: 40,
      queued: 0,
      created_at: at,
      wake_at: at,
      kept_until: new Date(at.getTime() + 3_600_000),
    })
    expect(await endOf({ replayId: replay_id })).toMatchObject({ matched: 42 })
  })

  test('is refused without a merchant, and a replay that does not exist is not found', async () => {
    await expect(system.deliveries.replayDeliveries({})).rejects.toMatchObject({ code: 1005 })
    await expect(system.deliveries.replayDeliveries({ filter: {} })).rejects.toMatchObject({ code: 1005 })
    const filter = { merchantId: '1', environment: 99 as Environment }
    await expect(system.deliveries.replayDeliveries({ filter })).rejects.toMatchObject({ code: 9000 })
    await expect(system.deliveries.getReplay({ replayId: uuidv7() })).rejects.toMatchObject({ code: 1003 })
  })
})

// C2
describe('a filter of the operator', () => {
  const long = 'x'.repeat(129)
  test.each([
    ['merchant_id', { merchantId: long }],
    ['event', { event: long }],
    ['payment_id', { paymentId: long }],
    ['endpoint_id', { endpointId: long }],
    ['environment', { environment: 99 as Environment }],
    ['created_from', { createdFrom: { seconds: 8_640_000_000_001n } }],
    ['created_to', { createdTo: { seconds: 253_402_300_800n } }],
    ['created_to', { createdTo: { seconds: -62_135_596_801n } }],
  ])('is refused with its field, and no replay is stored: %s', async (field, wrong) => {
    const filter = { merchantId: '1', ...wrong }
    const stored = async () =>
      (await openReplays(system.roles.storeOf('notifier'))).find('by_wake', { equals: [] }, { limit: 100 })
    const before = await stored()
    const refusal = (description: string) => ({ code: 9000, details: { description } })
    await expect(system.deliveries.listDeliveries(filter)).rejects.toMatchObject(refusal(field))
    await expect(system.deliveries.replayDeliveries({ filter })).rejects.toMatchObject(
      refusal(`filter.${field}`),
    )
    expect(await stored()).toEqual(before)
  })

  test('may have the longest texts and the first and last instants', async () => {
    const text = 'x'.repeat(128)
    const filter = {
      merchantId: text,
      event: text,
      paymentId: text,
      endpointId: text,
      createdFrom: { seconds: -62_135_596_800n },
      createdTo: { seconds: 253_402_300_799n },
    }
    const { event: _event, paymentId: _payment, ...listed } = filter
    expect((await system.deliveries.listDeliveries(listed)).deliveries).toEqual([])
    const { replay } = await system.deliveries.replayDeliveries({ filter })
    expect(await endOf(replay)).toMatchObject({ matched: 0, filter })
  })
})

describe('a test event', () => {
  test('is sent to the endpoint, whatever events it lists, and signed like any other', async () => {
    const { endpointId, merchantId, receiver } = await newShop(() => ({ status: 200 }), ['payment.refunded'])
    const { deliveryId } = await system.deliveries.sendTestEvent({ endpointId })
    await waitFor(merchantId, DELIVERED, 1)
    const [callback] = receiver.callbacks
    expect(callback?.headers['x-webhook-id']).toBe(deliveryId)
    expect(callback?.headers['x-webhook-signature-v3']).toMatch(/^[0-9a-f]{128}$/)
    expect(callback?.body).toMatchObject({
      id: expect.stringMatching(/:webhook\.test$/),
      merchant_id: merchantId,
      data: { next: null, result: {}, success: true },
    })
    expect((await system.deliveries.getDelivery({ deliveryId })).delivery).toMatchObject({
      event: 'webhook.test',
    })
  })

  // O12
  test('is sent once under its operation id, by many at once and later, and to no other endpoint', async () => {
    const { endpointId, merchantId, receiver } = await newShop(() => ({ status: 200 }))
    const operationId = uuidv7()
    const send = async (request: object): Promise<string> =>
      (await system.deliveries.sendTestEvent({ endpointId, ...request })).deliveryId
    const sent = await Promise.all(Array.from({ length: 5 }, () => send({ operationId })))
    await waitFor(merchantId, DELIVERED, 1)
    expect(new Set([...sent, await send({ operationId })]).size).toBe(1)
    expect(await send({ operationId: uuidv7() })).not.toBe(sent[0])
    expect(await send({})).not.toBe(await send({}))
    await waitFor(merchantId, DELIVERED, 4)
    expect(receiver.callbacks).toHaveLength(4)
    const { endpoint: second } = await system.newEndpoint(merchantId, receiver.url)
    await expect(send({ endpointId: second?.endpointId, operationId })).rejects.toMatchObject({ code: 1013 })
    const other = await newShop(() => ({ status: 200 }))
    expect(await send({ endpointId: other.endpointId, operationId })).not.toBe(sent[0])
    await expect(send({ operationId: 'x'.repeat(129) })).rejects.toMatchObject({ code: 9000 })
  })

  test('needs an endpoint that exists', async () => {
    await expect(system.deliveries.sendTestEvent({ endpointId: uuidv7() })).rejects.toMatchObject({
      code: 1003,
    })
    await expect(system.deliveries.sendTestEvent({ endpointId: 'none' })).rejects.toMatchObject({
      code: 1003,
    })
    await expect(system.deliveries.sendTestEvent({})).rejects.toMatchObject({ code: 1005 })
  })
})

test('only the operator replays deliveries and sends test events', async () => {
  const internal = system.roles.client(DeliveryService, 'internal')
  await expect(internal.replayDelivery({ deliveryId: uuidv7() })).rejects.toThrow()
  await expect(internal.replayDeliveries({ filter: { merchantId: '1' } })).rejects.toThrow()
  await expect(internal.sendTestEvent({ endpointId: uuidv7() })).rejects.toThrow()
  await expect(internal.getReplay({ replayId: uuidv7() })).rejects.toMatchObject({ code: 1003 })
})
