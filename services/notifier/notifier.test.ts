import { createHmac } from 'node:crypto'
import type { Client } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { type Delivery, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { fullPayment } from '#lib/contract/public-payment/payment.fixture.ts'
import { createPublisher, type Publisher } from '#lib/patterns/effects/publisher.ts'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type Receiver, type ReceiverAnswer, startReceiver } from '../../test/support/receiver.ts'
import { startRoles, type TestRoles } from '../../test/support/roles.ts'
import { role as merchants } from '../merchants/service.ts'
import { eventBytes } from './event.fixture.ts'
import { role as notifier } from './service.ts'

const BOUND_TO = 'webhook:7001:order-1'
const { PENDING, DELIVERED, DEAD } = DeliveryStatus

let roles: TestRoles
let publisher: Publisher
let deliveries: Client<typeof DeliveryService>
const receivers: Receiver[] = []

beforeAll(async () => {
  roles = await startRoles([merchants, notifier], { MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8' })
  publisher = await createPublisher(roles.bus)
  deliveries = roles.client(DeliveryService, 'operator')
})
afterAll(async () => {
  await publisher.close()
  await roles[Symbol.asyncDispose]()
  for (const receiver of receivers) await receiver.stop()
})

async function receiverThat(answer?: (count: number) => ReceiverAnswer): Promise<Receiver> {
  const receiver = await startReceiver(answer)
  receivers.push(receiver)
  return receiver
}

async function newMerchant(): Promise<string> {
  const { merchant } = await roles.client(MerchantService, 'operator').createMerchant({
    name: 'shop',
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST, Environment.PRODUCTION],
  })
  return merchant?.merchantId ?? ''
}

/** An endpoint of a merchant at a receiver, with one retry; answers its secret. */
async function newEndpoint(merchantId: string, url: string, events: string[] = []) {
  return roles.client(EndpointService, 'operator').createEndpoint({
    merchantId,
    environment: Environment.TEST,
    url,
    events,
    maxRetries: 1,
  })
}

/** Publishes an event about a payment of its own until it is stored; answers the payment's id. */
async function publish(
  merchantId: string,
  changes: Parameters<typeof eventBytes>[0] & { description?: string; qr_payload?: string } = {},
): Promise<string> {
  const { qr_payload, ...event } = changes
  const paymentId = uuidv7()
  const receiver = qr_payload === undefined ? {} : { receiver: { qrPayload: qr_payload } }
  const value = fullPayment({ paymentId, merchantId, ...receiver })
  const resource = { case: 'payment', value } as const
  const key = `${paymentId}:3`
  const name = event.event ?? 'payment.completed'
  await publisher.publish(
    `events.${name}`,
    key,
    eventBytes({ eventKey: key, merchantId, resource, ...event }),
  )
  return paymentId
}

async function deliveriesOf(merchantId: string, paymentId: string): Promise<Delivery[]> {
  return (await deliveries.listDeliveries({ merchantId, paymentId })).deliveries
}

/** Waits until the only delivery about a payment is in this status. */
async function delivery(merchantId: string, paymentId: string, status: DeliveryStatus): Promise<Delivery> {
  const [found] = await eventually(
    () => deliveriesOf(merchantId, paymentId),
    (seen) => seen?.[0]?.status === status,
  )
  if (!found) throw new Error('there is no delivery')
  return found
}

function own(url: string) {
  const secret = newSecret()
  const callback = { url, sealedSecret: roles.keyring.seal(secret, BOUND_TO), boundTo: BOUND_TO }
  return { secret: secret.reveal(), callback }
}

/** The V3 signature as a merchant's program computes it. */
function v3(secret: string, { headers, raw }: Receiver['callbacks'][number]): string {
  const { 'x-webhook-timestamp': timestamp, 'x-webhook-nonce': nonce, 'x-webhook-id': id } = headers
  return createHmac('sha512', secret).update(`${timestamp}.${nonce}.${id}.`).update(raw).digest('hex')
}

describe('a callback', () => {
  test('reaches each endpoint of the merchant that wants it, signed with the secret of that endpoint', async () => {
    const merchant_id = await newMerchant()
    const [one, two, unwanted] = [await receiverThat(), await receiverThat(), await receiverThat()]
    const first = await newEndpoint(merchant_id, one.url)
    const second = await newEndpoint(merchant_id, two.url, ['payment.completed'])
    await newEndpoint(merchant_id, unwanted.url, ['payment.failed'])
    const payment_id = await publish(merchant_id)
    const found = await eventually(
      () => deliveriesOf(merchant_id, payment_id),
      (seen = []) => seen.length === 2 && seen.every(({ status }) => status === DELIVERED),
    )
    for (const [receiver, { endpoint, secret }] of [[one, first] as const, [two, second] as const]) {
      const [callback] = receiver.callbacks
      if (!callback) throw new Error('no callback came')
      expect(callback.headers['x-webhook-signature-v3']).toBe(v3(secret, callback))
      const own_delivery = found.find(({ endpointId }) => endpointId === endpoint?.endpointId)
      expect(callback.headers['x-webhook-id']).toBe(own_delivery?.deliveryId)
      expect(own_delivery?.attempts).toMatchObject([{ number: 1, httpStatus: 200, failure: '' }])
    }
    expect(unwanted.callbacks).toEqual([])
  })

  test('of a payment with an address of its own goes there and only there, signed with its own secret', async () => {
    const merchant_id = await newMerchant()
    const [endpoint, address] = [await receiverThat(), await receiverThat()]
    await newEndpoint(merchant_id, endpoint.url)
    const { secret, callback } = own(address.url)
    const payment_id = await publish(merchant_id, { callback })
    await delivery(merchant_id, payment_id, DELIVERED)
    const [received] = address.callbacks
    expect(received?.headers['x-webhook-signature-v3']).toBe(received && v3(secret, received))
    expect(endpoint.callbacks).toEqual([])
  })

  test('that fails is sent again: the same id and bytes, a new timestamp, nonce and signature', async () => {
    const merchant_id = await newMerchant()
    const receiver = await receiverThat((count) => ({ status: count === 1 ? 500 : 200 }))
    const { secret } = await newEndpoint(merchant_id, receiver.url)
    const payment_id = await publish(merchant_id)
    const { attempts } = await delivery(merchant_id, payment_id, DELIVERED)
    expect(attempts).toMatchObject([
      { number: 1, httpStatus: 500, failure: 'http_status' },
      { number: 2, httpStatus: 200, failure: '' },
    ])
    const [first, second] = receiver.callbacks
    if (!first || !second) throw new Error('two callbacks were to come')
    expect(second.raw.equals(first.raw)).toBe(true)
    expect(second.headers['x-webhook-id']).toBe(first.headers['x-webhook-id'])
    for (const name of ['x-webhook-timestamp', 'x-webhook-nonce', 'x-webhook-signature-v3']) {
      expect(second.headers[name]).not.toBe(first.headers[name])
    }
    expect(second.headers['x-webhook-signature-v3']).toBe(v3(secret, second))
  })

  test('that fails every time is dead, and kept', async () => {
    const merchant_id = await newMerchant()
    const receiver = await receiverThat(() => ({ status: 503 }))
    await newEndpoint(merchant_id, receiver.url)
    const payment_id = await publish(merchant_id)
    const pending = await delivery(merchant_id, payment_id, PENDING)
    expect(pending.nextAttemptTime).toBeDefined()
    const dead = await delivery(merchant_id, payment_id, DEAD)
    expect(dead.attempts).toHaveLength(2)
    expect(dead.nextAttemptTime).toBeUndefined()
    expect(receiver.callbacks).toHaveLength(2)
  })

  test('is not carried on to where a redirect points', async () => {
    const merchant_id = await newMerchant()
    const target = await receiverThat()
    const receiver = await receiverThat(() => ({ status: 302, headers: { location: target.url } }))
    await newEndpoint(merchant_id, receiver.url)
    const payment_id = await publish(merchant_id)
    const { attempts } = await delivery(merchant_id, payment_id, DEAD)
    expect(attempts).toMatchObject([
      { httpStatus: 302, failure: 'http_status' },
      { httpStatus: 302, failure: 'http_status' },
    ])
    expect(target.callbacks).toEqual([])
  })

  test('that is larger than 256 KiB is not sent', async () => {
    const merchant_id = await newMerchant()
    const receiver = await receiverThat()
    await newEndpoint(merchant_id, receiver.url)
    const payment_id = await publish(merchant_id, { qr_payload: 'x'.repeat(262_144) })
    const { attempts } = await delivery(merchant_id, payment_id, DEAD)
    expect(attempts.map(({ failure }) => failure)).toEqual(['payload_too_large', 'payload_too_large'])
    expect(receiver.callbacks).toEqual([])
  })

  test('to where nobody listens, or where nobody may be called, says so', async () => {
    const merchant_id = await newMerchant()
    const stopped = await startReceiver()
    await stopped.stop()
    const refused = await publish(merchant_id, own(stopped.url))
    const forbidden = await publish(merchant_id, own('http://10.0.0.1:8080/'))
    const first = async (payment_id: string): Promise<string> => {
      const [seen] = await eventually(
        () => deliveriesOf(merchant_id, payment_id),
        (found) => (found?.[0]?.attempts.length ?? 0) > 0,
      )
      return seen?.attempts[0]?.failure ?? ''
    }
    expect(await first(refused)).toBe('refused')
    expect(await first(forbidden)).toBe('refused_address')
  })

  test('of an event that is published again and again comes once', async () => {
    const merchant_id = await newMerchant()
    const receiver = await receiverThat()
    await newEndpoint(merchant_id, receiver.url)
    const payment_id = await publish(merchant_id)
    await delivery(merchant_id, payment_id, DELIVERED)
    const event_key = `${payment_id}:3`
    const again = eventBytes({ eventKey: event_key, merchantId: merchant_id })
    for (let time = 0; time < 5; time++) await publisher.publish('events.payment.completed', event_key, again)
    expect(await deliveriesOf(merchant_id, payment_id)).toHaveLength(1)
    expect(receiver.callbacks).toHaveLength(1)
  })
})

describe('the operator', () => {
  test('finds deliveries by event, status, payment and endpoint, newest first, by pages', async () => {
    const merchant_id = await newMerchant()
    const receiver = await receiverThat()
    const { endpoint } = await newEndpoint(merchant_id, receiver.url, ['payment.completed', 'payment.failed'])
    const payments: string[] = []
    for (let number = 0; number < 7; number++) {
      const event = number % 3 === 0 ? 'payment.failed' : 'payment.completed'
      payments.push(await publish(merchant_id, { event }))
    }
    await eventually(
      () => deliveries.listDeliveries({ merchantId: merchant_id, status: DELIVERED, pageSize: 100 }),
      (seen) => seen?.deliveries.length === 7,
    )
    const all = async (filter: object): Promise<string[]> => {
      const found: string[] = []
      let pageToken = ''
      do {
        const page = await deliveries.listDeliveries({
          merchantId: merchant_id,
          pageSize: 2,
          pageToken,
          ...filter,
        })
        found.push(...page.deliveries.map(({ paymentId }) => paymentId))
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      return found
    }
    const newest_first = [...payments].reverse()
    expect(await all({})).toEqual(newest_first)
    const failed = newest_first.filter((_, index) => index % 3 === 0)
    expect(await all({ event: 'payment.failed' })).toEqual(failed)
    expect(await all({ endpointId: endpoint?.endpointId ?? '' })).toEqual(newest_first)
    expect(await all({ endpointId: uuidv7() })).toEqual([])
    expect(await all({ status: DEAD })).toEqual([])
    expect(await all({ paymentId: payments[3] })).toEqual([payments[3]])
    expect(await all({ paymentId: payments[3], event: 'payment.completed' })).toEqual([])
    expect(await all({ environment: Environment.PRODUCTION })).toEqual([])
    expect(await all({ paymentId: payments[3], environment: Environment.PRODUCTION })).toEqual([])
  })

  test('reads one delivery by the id that the merchant saw', async () => {
    const merchant_id = await newMerchant()
    const receiver = await receiverThat()
    await newEndpoint(merchant_id, receiver.url)
    const payment_id = await publish(merchant_id)
    const { deliveryId } = await delivery(merchant_id, payment_id, DELIVERED)
    const { delivery: found } = await deliveries.getDelivery({ deliveryId })
    expect(found).toMatchObject({ deliveryId, merchantId: merchant_id, paymentId: payment_id })
    expect(receiver.callbacks[0]?.headers['x-webhook-id']).toBe(deliveryId)
  })

  test.each<[string, object, number]>([
    ['no merchant', {}, 1005],
    ['a status that is none', { merchantId: '1', status: 99 }, 9000],
    ['an environment that is none', { merchantId: '1', environment: 99 }, 9000],
    ['a page that is too large', { merchantId: '1', pageSize: 101 }, 9000],
    ['a token that is none', { merchantId: '1', pageToken: 'garbage' }, 9000],
  ])('is refused a list with %s', async (_what, request, code) => {
    await expect(deliveries.listDeliveries(request)).rejects.toMatchObject({ code })
  })

  test('is refused a delivery that is not there, or not named', async () => {
    await expect(deliveries.getDelivery({ deliveryId: uuidv7() })).rejects.toMatchObject({ code: 1003 })
    await expect(deliveries.getDelivery({})).rejects.toMatchObject({ code: 1005 })
  })

  test('is the only one who may look, beside internal teams', async () => {
    const gateway = roles.client(DeliveryService, 'gateway')
    await expect(gateway.listDeliveries({ merchantId: '1' })).rejects.toThrow()
  })
})
