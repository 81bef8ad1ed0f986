import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { type Delivery, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { eventually, nextMillisecond } from '../../test/support/eventually.ts'
import { signatureV3, startReceiver } from '../../test/support/receiver.ts'
import { addressOfEndpoint } from './domain/destination.ts'
import { newTarget } from './domain/event.ts'
import { type NotifierSystem, startNotifierSystem } from './notifier-system.fixture.ts'
import { openNotifierStore } from './store/notifier-store.ts'

const WEBHOOK_OWNER = 'webhook:7001:order-1'
const { PENDING, DELIVERED, DEAD } = DeliveryStatus

let system: NotifierSystem
let lost: Awaited<ReturnType<typeof storeLostEvent>>
beforeAll(async () => {
  system = await startNotifierSystem()
  lost = await storeLostEvent()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

async function deliveriesOf(merchantId: string, paymentId: string): Promise<Delivery[]> {
  return (await system.deliveries.listDeliveries({ merchantId, paymentId })).deliveries
}

/** Waits until the only delivery of a payment has this status. */
async function waitForDelivery(
  merchantId: string,
  paymentId: string,
  status: DeliveryStatus,
): Promise<Delivery> {
  const [delivery] = await eventually(
    () => deliveriesOf(merchantId, paymentId),
    (listed) => listed?.[0]?.status === status,
  )
  if (!delivery) throw new Error('there is no delivery')
  return delivery
}

/** The `webhook` field of an event whose payment has its own `webhook_url`, and the secret that signs there. */
function newWebhook(url: string) {
  const secret = newSecret()
  const webhook = {
    url,
    sealedSecret: system.roles.keys.webhook.seal(secret, WEBHOOK_OWNER),
    secretOwner: WEBHOOK_OWNER,
  }
  return { secret: secret.reveal(), webhook }
}

test('an event gets no receipt before it is stored, so the publisher keeps it', async () => {
  const merchant_id = await system.newMerchant()
  const receiver = await system.newReceiver()
  await system.newEndpoint(merchant_id, receiver.url)
  system.roles.setStoreUnavailable('notifier', true)
  await expect(system.publishOnce(merchant_id)).rejects.toThrow('no receipt')
  system.roles.setStoreUnavailable('notifier', false)
  const payment_id = await system.publish(merchant_id)
  await waitForDelivery(merchant_id, payment_id, DELIVERED)
  expect(receiver.callbacks).toHaveLength(1)
})

// N6
test('a retry goes to the present URL of its endpoint, signed with its present secret', async () => {
  const merchant_id = await system.newMerchant()
  const [gone, moved] = [await system.newReceiver(() => ({ status: 500 })), await system.newReceiver()]
  const endpoints = system.roles.client(EndpointService, 'backoffice')
  const { endpoint } = await endpoints.createEndpoint({
    merchantId: merchant_id,
    environment: Environment.TEST,
    url: gone.url,
    events: [],
    maxRetries: 10,
  })
  const endpointId = endpoint?.endpointId ?? ''
  const payment_id = await system.publish(merchant_id)
  await eventually(
    async () => gone.callbacks.length,
    (received) => received === 1,
  )
  const { secret } = await endpoints.rotateEndpointSecret({ endpointId })
  await endpoints.updateEndpoint({ endpointId, url: moved.url, enabled: false })
  const delivered = await waitForDelivery(merchant_id, payment_id, DELIVERED)
  const [callback] = moved.callbacks
  expect(callback?.headers['x-webhook-id']).toBe(delivered.deliveryId)
  expect(callback && signatureV3(secret, callback)).toBe(callback?.headers['x-webhook-signature-v3'])
  expect(delivered.url).toBe(moved.url)
})

describe('a callback', () => {
  test('reaches each endpoint of the merchant that lists the event, signed with the secret of that endpoint', async () => {
    const merchant_id = await system.newMerchant()
    const [one, two, other] = [
      await system.newReceiver(),
      await system.newReceiver(),
      await system.newReceiver(),
    ]
    const first = await system.newEndpoint(merchant_id, one.url)
    const second = await system.newEndpoint(merchant_id, two.url, ['payment.completed'])
    await system.newEndpoint(merchant_id, other.url, ['payment.failed'])
    const payment_id = await system.publish(merchant_id)
    const listed_deliveries = await eventually(
      () => deliveriesOf(merchant_id, payment_id),
      (listed = []) => listed.length === 2 && listed.every(({ status }) => status === DELIVERED),
    )
    for (const [receiver, { endpoint, secret }] of [[one, first] as const, [two, second] as const]) {
      const [callback] = receiver.callbacks
      if (!callback) throw new Error('no callback was received')
      expect(callback.headers['x-webhook-signature-v3']).toBe(signatureV3(secret, callback))
      const its_delivery = listed_deliveries.find(({ endpointId }) => endpointId === endpoint?.endpointId)
      expect(callback.headers['x-webhook-id']).toBe(its_delivery?.deliveryId)
      expect(its_delivery?.attempts).toMatchObject([{ number: 1, httpStatus: 200, failure: '' }])
    }
    expect(other.callbacks).toEqual([])
  })

  // N8
  test('of a payment with a webhook_url is sent there only, signed with its derived secret', async () => {
    const merchant_id = await system.newMerchant()
    const [endpoint, own] = [await system.newReceiver(), await system.newReceiver()]
    await system.newEndpoint(merchant_id, endpoint.url)
    const { secret, webhook } = newWebhook(own.url)
    const payment_id = await system.publish(merchant_id, { webhook })
    await waitForDelivery(merchant_id, payment_id, DELIVERED)
    const [received] = own.callbacks
    expect(received?.headers['x-webhook-signature-v3']).toBe(received && signatureV3(secret, received))
    expect(endpoint.callbacks).toEqual([])
  })

  test('is not held up by requests of another merchant that hang at its origin', async () => {
    const [slow_merchant, merchant_id] = [await system.newMerchant(), await system.newMerchant()]
    const hanging_count = 64
    const receiver = await system.newReceiver((count) => ({ status: count <= hanging_count ? 0 : 200 }))
    const urls = Array.from({ length: hanging_count }, (_, number) => `${receiver.url}?order=${number}`)
    await Promise.all(urls.map((url) => system.publish(slow_merchant, newWebhook(url))))
    await eventually(
      async () => receiver.callbacks.length,
      (count) => count === hanging_count,
    )
    await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id)
    await waitForDelivery(merchant_id, payment_id, DELIVERED)
    const hanging = await system.deliveries.listDeliveries({ merchantId: slow_merchant, pageSize: 100 })
    // On a slow machine they may have reached their time limit by now.
    const first = hanging.deliveries.map(({ attempts }) => attempts[0]?.failure ?? 'timeout')
    expect(first).toEqual(urls.map(() => 'timeout'))
  })

  // N3
  test('is retried with the same id and bytes, and a new timestamp, nonce and signature', async () => {
    const merchant_id = await system.newMerchant()
    const receiver = await system.newReceiver((count) => ({ status: count === 1 ? 500 : 200 }))
    const { secret } = await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id)
    const { attempts } = await waitForDelivery(merchant_id, payment_id, DELIVERED)
    expect(attempts).toMatchObject([
      { number: 1, httpStatus: 500, failure: 'http_status' },
      { number: 2, httpStatus: 200, failure: '' },
    ])
    const [first, second] = receiver.callbacks
    if (!first || !second) throw new Error('two callbacks were expected')
    expect(second.raw.equals(first.raw)).toBe(true)
    expect(second.headers['x-webhook-id']).toBe(first.headers['x-webhook-id'])
    for (const name of ['x-webhook-timestamp', 'x-webhook-nonce', 'x-webhook-signature-v3']) {
      expect(second.headers[name]).not.toBe(first.headers[name])
    }
    expect(second.headers['x-webhook-signature-v3']).toBe(signatureV3(secret, second))
  })

  // N6
  test('is dead after its last attempt failed, and stays readable', async () => {
    const merchant_id = await system.newMerchant()
    const receiver = await system.newReceiver(() => ({ status: 503 }))
    await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id)
    const pending = await waitForDelivery(merchant_id, payment_id, PENDING)
    expect(pending.nextAttemptTime).toBeDefined()
    const dead = await waitForDelivery(merchant_id, payment_id, DEAD)
    expect(dead.attempts).toHaveLength(2)
    expect(dead.nextAttemptTime).toBeUndefined()
    expect(receiver.callbacks).toHaveLength(2)
  })

  // N4
  test('does not follow a redirect', async () => {
    const merchant_id = await system.newMerchant()
    const target = await system.newReceiver()
    const receiver = await system.newReceiver(() => ({ status: 302, headers: { location: target.url } }))
    await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id)
    const { attempts } = await waitForDelivery(merchant_id, payment_id, DEAD)
    expect(attempts).toMatchObject([
      { httpStatus: 302, failure: 'http_status' },
      { httpStatus: 302, failure: 'http_status' },
    ])
    expect(target.callbacks).toEqual([])
  })

  // N4
  test('larger than 256 KiB is not sent', async () => {
    const merchant_id = await system.newMerchant()
    const receiver = await system.newReceiver()
    await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id, { qr_payload: 'x'.repeat(262_144) })
    const { attempts } = await waitForDelivery(merchant_id, payment_id, DEAD)
    expect(attempts.map(({ failure }) => failure)).toEqual(['payload_too_large', 'payload_too_large'])
    expect(receiver.callbacks).toEqual([])
  })

  test('to a closed port or a private address records the reason', async () => {
    const merchant_id = await system.newMerchant()
    const stopped = await startReceiver()
    await stopped.stop()
    const refused = await system.publish(merchant_id, newWebhook(stopped.url))
    const forbidden = await system.publish(merchant_id, newWebhook('http://10.0.0.1:8080/'))
    const firstFailure = async (payment_id: string): Promise<string> => {
      const [listed] = await eventually(
        () => deliveriesOf(merchant_id, payment_id),
        (deliveries) => (deliveries?.[0]?.attempts.length ?? 0) > 0,
      )
      return listed?.attempts[0]?.failure ?? ''
    }
    expect(await firstFailure(refused)).toBe('refused')
    expect(await firstFailure(forbidden)).toBe('refused_address')
  })

  test('of a repeatedly published event is sent once', async () => {
    const merchant_id = await system.newMerchant()
    const receiver = await system.newReceiver()
    await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id)
    await waitForDelivery(merchant_id, payment_id, DELIVERED)
    for (let time = 0; time < 5; time += 1) await system.publishAgain(merchant_id, payment_id)
    expect(await deliveriesOf(merchant_id, payment_id)).toHaveLength(1)
    expect(receiver.callbacks).toHaveLength(1)
  })
})

describe('the operator', () => {
  test('lists deliveries by event, status, payment and endpoint, newest first, in pages', async () => {
    const merchant_id = await system.newMerchant()
    const receiver = await system.newReceiver()
    const { endpoint } = await system.newEndpoint(merchant_id, receiver.url, [
      'payment.completed',
      'payment.failed',
    ])
    const payments: string[] = []
    for (let number = 0; number < 7; number += 1) {
      const event = number % 3 === 0 ? 'payment.failed' : 'payment.completed'
      await nextMillisecond()
      payments.push(await system.publish(merchant_id, { event }))
    }
    await eventually(
      () => system.deliveries.listDeliveries({ merchantId: merchant_id, status: DELIVERED, pageSize: 100 }),
      (page) => page?.deliveries.length === 7,
    )
    const listAll = async (filter: object): Promise<string[]> => {
      const payment_ids: string[] = []
      let pageToken = ''
      do {
        const page = await system.deliveries.listDeliveries({
          merchantId: merchant_id,
          pageSize: 2,
          pageToken,
          ...filter,
        })
        payment_ids.push(...page.deliveries.map(({ paymentId }) => paymentId))
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      return payment_ids
    }
    const newest_first = [...payments].reverse()
    expect(await listAll({})).toEqual(newest_first)
    const failed = newest_first.filter((_, index) => index % 3 === 0)
    expect(await listAll({ event: 'payment.failed' })).toEqual(failed)
    expect(await listAll({ endpointId: endpoint?.endpointId ?? '' })).toEqual(newest_first)
    expect(await listAll({ endpointId: uuidv7() })).toEqual([])
    expect(await listAll({ status: DEAD })).toEqual([])
    expect(await listAll({ paymentId: payments[3] })).toEqual([payments[3]])
    expect(await listAll({ event: 'payment.failed', status: DEAD, environment: Environment.TEST })).toEqual(
      [],
    )
    expect(await listAll({ environment: Environment.PRODUCTION })).toEqual([])
    expect(await listAll({ paymentId: payments[3], environment: Environment.PRODUCTION })).toEqual([])
  })

  test('reads one delivery by its X-Webhook-Id', async () => {
    const merchant_id = await system.newMerchant()
    const receiver = await system.newReceiver()
    await system.newEndpoint(merchant_id, receiver.url)
    const payment_id = await system.publish(merchant_id)
    const { deliveryId } = await waitForDelivery(merchant_id, payment_id, DELIVERED)
    const { delivery, body } = await system.deliveries.getDelivery({ deliveryId })
    expect(delivery).toMatchObject({ deliveryId, merchantId: merchant_id, paymentId: payment_id })
    expect(body).toBeUndefined()
    const shown = await system.deliveries.getDelivery({ deliveryId, reveal: true })
    expect(JSON.parse(Buffer.from(shown.body ?? []).toString())).toEqual(receiver.callbacks[0]?.body)
    expect(receiver.callbacks[0]?.headers['x-webhook-id']).toBe(deliveryId)
  })

  test.each<[string, object, number]>([
    ['an event of all merchants', { event: 'payment.completed' }, 9000],
    ['a time of all merchants', { createdTo: timestampFromMs(1) }, 9000],
    ['an event of a payment', { merchantId: '1', paymentId: 'p-1', event: 'payment.completed' }, 9000],
    ['a trouble of one merchant', { merchantId: '1', trouble: 3 }, 9000],
    ['an unknown status', { merchantId: '1', status: 99 }, 9000],
    ['an unknown environment', { merchantId: '1', environment: 99 }, 9000],
    ['a page size over 1,000', { merchantId: '1', pageSize: 1_001 }, 9000],
    ['an invalid page token', { merchantId: '1', pageToken: 'garbage' }, 9000],
  ])('gets an error for a list with %s', async (_name, request, code) => {
    await expect(system.deliveries.listDeliveries(request)).rejects.toMatchObject({ code })
  })

  test('gets 1003 for an unknown delivery, and 1005 without an id', async () => {
    await expect(system.deliveries.getDelivery({ deliveryId: uuidv7() })).rejects.toMatchObject({
      code: 1003,
    })
    await expect(system.deliveries.getDelivery({})).rejects.toMatchObject({ code: 1005 })
  })

  test('and internal teams are the only callers that may read deliveries', async () => {
    const gateway = system.roles.client(DeliveryService, 'gateway')
    await expect(gateway.listDeliveries({ merchantId: '1' })).rejects.toThrow()
  })
})

// N9
test.each([
  ['production', Environment.PRODUCTION, 'refused_address'],
  ['test', Environment.TEST, 'tls'],
])('an address that is allowed for the test environment: %s', async (_name, environment, failure) => {
  const merchant_id = await system.newMerchant()
  const receiver = await system.newReceiver()
  const { webhook } = newWebhook(receiver.url.replace('http:', 'https:'))
  const payment_id = await system.publish(merchant_id, { webhook, environment })
  const [delivery] = await eventually(
    () => deliveriesOf(merchant_id, payment_id),
    (listed) => listed?.[0]?.attempts[0] !== undefined,
  )
  expect(delivery?.attempts[0]?.failure).toBe(failure)
  expect(receiver.callbacks).toEqual([])
})

/** Stores an event of a minute ago that has no delivery, as after a forged receipt, before any other event. */
async function storeLostEvent() {
  const merchant_id = await system.newMerchant()
  const receiver = await system.newReceiver()
  const { endpoint } = await system.newEndpoint(merchant_id, receiver.url)
  if (endpoint === undefined) throw new Error('there is no endpoint')
  const key = { merchant_id, event_key: 'lost:success', created_at: new Date(now().getTime() - 60_000) }
  const address = { endpoint_id: endpoint.endpointId, ...addressOfEndpoint(endpoint) }
  const { events } = await openNotifierStore(system.roles.storeOf('notifier'), system.roles.keys.person)
  await events.insert({
    ...key,
    environment: 'test',
    event: 'payment.completed',
    resource_id: 'lost',
    body: Buffer.from('{}'),
    destinations: [newTarget(key, 'test', address)],
    kept_until: new Date(now().getTime() + 3_600_000),
  })
  return { merchant_id, receiver }
}

// O10: it is last, because a running notifier looks every 10 s.
test('a stored event that lacks its delivery gets it', async () => {
  await waitForDelivery(lost.merchant_id, 'lost', DELIVERED)
  expect(lost.receiver.callbacks).toHaveLength(1)
})
