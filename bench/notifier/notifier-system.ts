import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventSubject } from '#lib/contract/events.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { createPublisher } from '#lib/patterns/effects/publisher.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { eventBytes } from '../../services/notifier/event.fixture.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import { startRoles } from '../../test/support/roles.ts'
import { ATTEMPT_SECONDS } from './sender.ts'

const EVENT = 'payment.completed'

/** Publishes one event. Resolves when the notifier has stored it. */
export type PublishEvent = () => Promise<void>

/** The merchants and the notifier in this process, with a merchant and an endpoint for each receiver. */
export interface NotifierSystem {
  /** The merchant of each receiver. */
  readonly merchant_ids: readonly string[]
  /** Makes an event of a payment with this `c_id` for a receiver, and returns the function that publishes it. */
  newEvent(receiver: number, c_id: string): PublishEvent
  /** Whether no delivery waits for an attempt any more. */
  isIdle(): Promise<boolean>
  /** Resolves when no delivery waits for an attempt any more. */
  allRecorded(): Promise<void>
  stop(): Promise<void>
}

const WEBHOOK_OWNER = 'webhook:bench'

/**
 * Starts the system, on embedded files, as `npm start` runs it. The data in `directory` is used again and kept. With
 * `is_one_merchant` all events are of the first merchant, and each goes to a `webhook_url` that is used once.
 */
export async function startNotifierSystem(
  urls: readonly string[],
  directory?: string,
  is_one_merchant = false,
): Promise<NotifierSystem> {
  const variables = { MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8' }
  const roles = await startRoles(
    [merchants, notifier],
    variables,
    directory === undefined ? {} : { directory },
  )
  const publisher = await createPublisher({
    bus: roles.bus,
    notifier: roles.client(DeliveryService, 'payments'),
    event_signer: roles.keys.event_payments,
    receipt_signer: roles.keys.receipt,
    bus_auth: 'require',
  })
  const deliveries = roles.client(DeliveryService, 'backoffice')
  const merchant_ids = await Promise.all(urls.map(newMerchantWithEndpoint))

  async function newMerchantWithEndpoint(url: string): Promise<string> {
    const environment = Environment.TEST
    const created = await roles
      .client(MerchantService, 'backoffice')
      .createMerchant({ name: 'bench', timezone: 'Asia/Kolkata', environments: [environment] })
    const merchantId = created.merchant?.merchantId ?? ''
    await roles
      .client(EndpointService, 'backoffice')
      .createEndpoint({ merchantId, environment, url, events: [], timeoutSeconds: ATTEMPT_SECONDS })
    return merchantId
  }

  const sealed = roles.keys.webhook.seal(new Secret('ab'.repeat(32)), WEBHOOK_OWNER)
  const webhookOf = (url: string) => ({ url, sealedSecret: sealed, secretOwner: WEBHOOK_OWNER })

  async function waits(merchantId: string): Promise<boolean> {
    const filter = { merchantId, status: DeliveryStatus.PENDING, pageSize: 1 }
    return (await deliveries.listDeliveries(filter)).deliveries.length > 0
  }

  async function isIdle(): Promise<boolean> {
    for (const merchant_id of merchant_ids) if (await waits(merchant_id)) return false
    return true
  }

  return {
    merchant_ids,
    newEvent(receiver, c_id) {
      const merchantId = merchant_ids[is_one_merchant ? 0 : receiver % merchant_ids.length] ?? ''
      const paymentId = uuidv7()
      const value = fullPayment({ paymentId, merchantId, cId: c_id })
      const resource = { case: 'payment', value } as const
      const eventKey = `${paymentId}:3`
      const webhook = is_one_merchant ? webhookOf(`${urls[receiver % urls.length]}?order=${c_id}`) : undefined
      const data = eventBytes({ eventKey, merchantId, event: EVENT, resource, ...(webhook && { webhook }) })
      return () => publishUntilStored(() => publisher.publish(eventSubject(EVENT), eventKey, data))
    },
    isIdle,
    async allRecorded() {
      while (!(await isIdle())) await sleep(2)
    },
    async stop() {
      await publisher.close()
      await roles[Symbol.asyncDispose]()
    },
  }
}

/** Publishes an event again while it gets no receipt in time, as its service does. */
async function publishUntilStored(publish: PublishEvent): Promise<void> {
  for (;;) {
    try {
      return await publish()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}
