import type { Client } from '@connectrpc/connect'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  type CreateEndpointResponse,
  EndpointService,
} from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventSubject } from '#lib/contract/events.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { createPublisher } from '#lib/patterns/effects/publisher.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type Receiver, type ReceiverResponse, startReceiver } from '../../test/support/receiver.ts'
import { startRoles, type TestRoles } from '../../test/support/roles.ts'
import { role as merchants } from '../merchants/service.ts'
import { eventBytes } from './event.fixture.ts'
import { role as notifier } from './service.ts'

/** What a test changes in an event that it publishes. `qr_payload` makes its payment, and so its body, longer. */
export type PublishedEvent = Parameters<typeof eventBytes>[0] & { readonly qr_payload?: string }

/** The roles notifier and merchants in one process, with the receivers of merchants and a publisher of events. */
export interface NotifierSystem extends AsyncDisposable {
  readonly roles: TestRoles
  /** The deliveries as the operator reads them. */
  readonly deliveries: Client<typeof DeliveryService>
  newReceiver(respond?: (count: number) => ReceiverResponse): Promise<Receiver>
  /** Creates a merchant; returns its id. */
  newMerchant(): Promise<string>
  /** Creates an endpoint with one retry for a merchant; returns it with its secret. */
  newEndpoint(merchantId: string, url: string, events?: string[]): Promise<CreateEndpointResponse>
  /** Publishes an event about a new payment until the notifier has stored it; returns the id of the payment. */
  publish(merchantId: string, changes?: PublishedEvent): Promise<string>
  /** Publishes such an event once. Throws `Unavailable` when no receipt arrives in time. */
  publishOnce(merchantId: string): Promise<void>
  /** Publishes an event of `publish` again, under the same key. */
  publishAgain(merchantId: string, paymentId: string): Promise<void>
}

type KeyedEvent = Parameters<typeof eventBytes>[0] & { readonly eventKey: string }

/** Starts the system. Addresses of this machine may receive callbacks of the test environment. */
export async function startNotifierSystem(): Promise<NotifierSystem> {
  const roles = await startRoles([merchants, notifier], { MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8' })
  const publisher = await createPublisher({
    bus: roles.bus,
    notifier: roles.client(DeliveryService, 'payments'),
    event_signer: roles.keys.event_payments,
    receipt_signer: roles.keys.receipt,
    bus_auth: 'require',
  })
  const receivers: Receiver[] = []

  async function publishOnce(changes: KeyedEvent): Promise<void> {
    const name = changes.event ?? 'payment.completed'
    await publisher.publish(eventSubject(name), changes.eventKey, eventBytes(changes))
  }
  /** As services do it: until the receipt arrives, which takes longer than its time limit on a starved machine. */
  async function publishUntilStored(changes: KeyedEvent): Promise<void> {
    const isStored = () =>
      publishOnce(changes).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Unavailable) return false
          throw error
        },
      )
    await eventually(isStored, (is_stored) => is_stored === true)
  }

  return {
    roles,
    deliveries: roles.client(DeliveryService, 'backoffice'),
    async newReceiver(respond) {
      const receiver = await startReceiver(respond)
      receivers.push(receiver)
      return receiver
    },
    async newMerchant() {
      const { merchant } = await roles.client(MerchantService, 'backoffice').createMerchant({
        name: 'shop',
        timezone: 'Asia/Kolkata',
        environments: [Environment.TEST, Environment.PRODUCTION],
      })
      return merchant?.merchantId ?? ''
    },
    newEndpoint: (merchantId, url, events = []) =>
      roles.client(EndpointService, 'backoffice').createEndpoint({
        merchantId,
        environment: Environment.TEST,
        url,
        events,
        maxRetries: 1,
      }),
    async publish(merchantId, { qr_payload, ...changes } = {}) {
      const paymentId = uuidv7()
      const receiver = qr_payload === undefined ? {} : { receiver: { qrPayload: qr_payload } }
      const value = fullPayment({ paymentId, merchantId, ...receiver })
      const resource = { case: 'payment', value } as const
      await publishUntilStored({ eventKey: `${paymentId}:3`, merchantId, resource, ...changes })
      return paymentId
    },
    publishOnce: (merchantId) => publishOnce({ eventKey: `${uuidv7()}:3`, merchantId }),
    publishAgain: (merchantId, paymentId) => publishUntilStored({ eventKey: `${paymentId}:3`, merchantId }),
    async [Symbol.asyncDispose]() {
      await publisher.close()
      await roles[Symbol.asyncDispose]()
      for (const receiver of receivers) await receiver.stop()
    },
  }
}
