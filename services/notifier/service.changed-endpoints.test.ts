import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type ReceivedCallback, type Receiver, signatureV3 } from '../../test/support/receiver.ts'
import { type NotifierSystem, startNotifierSystem } from './notifier-system.fixture.ts'

const { DEAD, DELIVERED } = DeliveryStatus
const EVENTS = 60

let system: NotifierSystem
beforeAll(async () => {
  system = await startNotifierSystem()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** A merchant with one endpoint that moves between two receivers. Each of them fails every third callback. */
interface Shop {
  readonly merchantId: string
  readonly endpointId: string
  readonly receivers: readonly Receiver[]
  /** The webhook ids that were answered with 200, in this order. */
  readonly succeeded: string[]
  /** All secrets that the endpoint has had. */
  readonly secrets: string[]
}

async function openShop(): Promise<Shop> {
  const succeeded: string[] = []
  const receivers: Receiver[] = []
  for (let at = 0; at < 2; at += 1) {
    const receiver: Receiver = await system.newReceiver((count) => {
      if (count % 3 === 0) return { status: 500 }
      succeeded.push(receiver.callbacks[count - 1]?.headers['x-webhook-id'] ?? '')
      return { status: 200 }
    })
    receivers.push(receiver)
  }
  const merchantId = await system.newMerchant()
  const { endpoint, secret } = await system.newEndpoint(merchantId, receivers[0]?.url ?? '')
  return { merchantId, endpointId: endpoint?.endpointId ?? '', receivers, succeeded, secrets: [secret] }
}

/** Moves the endpoint, rotates its secret, and replays whatever is dead in both ways, all at once. */
async function disturb({ merchantId, endpointId, receivers, secrets }: Shop, round: number): Promise<void> {
  const endpoints = system.roles.client(EndpointService, 'backoffice')
  const list = { merchantId, status: DEAD, pageSize: 5 }
  const [{ secret }, { deliveries }] = await Promise.all([
    endpoints.rotateEndpointSecret({ endpointId }),
    system.deliveries.listDeliveries(list),
    endpoints.updateEndpoint({ endpointId, url: receivers[round % 2]?.url ?? '' }),
    system.deliveries.replayDeliveries({ filter: { merchantId } }),
  ])
  secrets.push(secret)
  const replays = deliveries.map(({ deliveryId }) => system.deliveries.replayDelivery({ deliveryId }))
  // What the replay by filter has queued may be delivered already.
  for (const result of await Promise.allSettled(replays))
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 9000 })
}

async function countDelivered({ merchantId }: Shop): Promise<number> {
  const list = { merchantId, status: DELIVERED, pageSize: 100 }
  return (await system.deliveries.listDeliveries(list)).deliveries.length
}

const idOf = ({ headers }: ReceivedCallback): string => headers['x-webhook-id'] ?? ''

test('replays while endpoints move and their secrets rotate deliver each callback once, to its merchant', async () => {
  const shops = [await openShop(), await openShop()]
  for (let round = 0; round < EVENTS; round += 1)
    await Promise.all(shops.flatMap((shop) => [system.publish(shop.merchantId), disturb(shop, round)]))
  for (const shop of shops)
    await eventually(
      async () => {
        await disturb(shop, 0)
        return countDelivered(shop)
      },
      (count) => count === EVENTS,
    )
  for (const { merchantId, receivers, succeeded, secrets } of shops) {
    expect(new Set(succeeded).size).toBe(EVENTS)
    expect(succeeded).toHaveLength(EVENTS)
    const callbacks = receivers.flatMap((receiver) => receiver.callbacks)
    const bodies = new Map(callbacks.map((callback) => [idOf(callback), callback.raw.toString()]))
    expect(bodies.size).toBe(EVENTS)
    for (const callback of callbacks) {
      expect(callback.body.merchant_id).toBe(merchantId)
      expect(callback.raw.toString()).toBe(bodies.get(idOf(callback)))
      const signatures = secrets.map((secret) => signatureV3(secret, callback))
      expect(signatures).toContain(callback.headers['x-webhook-signature-v3'])
    }
  }
})
