import type { Client } from '@connectrpc/connect'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import type { Delivery } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import {
  type PaymentOptions,
  type PaymentsSystem,
  startPayments,
} from '../../services/payments/payments-system.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'

type NotifyInit = Parameters<Client<typeof PaymentService>['notifyPayment']>[0]
type ResendInit = Parameters<Client<typeof PaymentService>['resendCallback']>[0]

/** Payments and the notifier, with a merchant's receiver. */
export interface ResendSystem extends AsyncDisposable {
  readonly payments: PaymentsSystem
  readonly receiver: Receiver
  /** Creates a deposit whose `webhook_url` is the receiver; returns it with the secret of its callbacks. */
  createDeposit(amount: bigint, more?: PaymentOptions): Promise<{ payment: Payment; secret: string }>
  /** Creates a deposit that succeeds, and waits for its two automatic callbacks. */
  createPaidDeposit(): Promise<Payment>
  notify(request: NotifyInit): ReturnType<Client<typeof PaymentService>['notifyPayment']>
  resend(request: ResendInit): ReturnType<Client<typeof PaymentService>['resendCallback']>
  /** Creates an endpoint for the merchant, for the five payment events unless given; returns its id and its secret. */
  createEndpoint(url: string, events?: string[]): Promise<{ endpointId: string; secret: string }>
  setEndpointEnabled(endpointId: string, enabled: boolean): Promise<unknown>
  /** Waits until `count` callbacks about a payment were received, and returns all of them. */
  waitForCallbacks(payment: Payment, count: number): Promise<readonly ReceivedCallback[]>
  /** Waits for the callback with this `X-Webhook-Id`. */
  waitForCallback(delivery_id: string | undefined): Promise<ReceivedCallback>
  listDeliveries(payment: Payment): Promise<readonly Delivery[]>
}

/** Creates a second merchant, which has no payments. */
export async function createOtherMerchant({ roles }: PaymentsSystem): Promise<string> {
  const merchant_request = { name: 'other', timezone: 'Asia/Kolkata', environments: [Environment.TEST] }
  const { merchant } = await roles.client(MerchantService, 'backoffice').createMerchant(merchant_request)
  return merchant?.merchantId ?? ''
}

/** Starts the system, on a bus in memory unless another one is given. */
export async function startResend(bus?: Bus): Promise<ResendSystem> {
  const payments = await startPayments({ notifier, ...(bus === undefined ? {} : { bus }) })
  const receiver = await startReceiver()
  const { roles, merchant_id: merchantId } = payments
  const owner = { merchantId, environment: Environment.TEST, payloadHash: 'payload-1' }
  const gateway = roles.client(PaymentService, 'gateway')
  const endpoints = roles.client(EndpointService, 'backoffice')
  const createDeposit: ResendSystem['createDeposit'] = async (amount, more = {}) => {
    const c_id = more.c_id ?? uuidv7()
    const secret = newSecret()
    const sealedSecret = roles.keys.webhook.seal(
      secret,
      ownerOfWebhookSecret({ merchant_id: merchantId, c_id }),
    )
    const request = { webhook: { url: receiver.url, sealedSecret }, ...more.request }
    return { payment: await payments.deposit(amount, { ...more, c_id, request }), secret: secret.reveal() }
  }
  const waitForCallbacks: ResendSystem['waitForCallbacks'] = ({ cId }, count) =>
    eventually(
      async () => receiver.of(cId),
      (received = []) => received.length >= count,
    )
  return {
    payments,
    receiver,
    createDeposit,
    async createPaidDeposit() {
      // 908: the sandbox reports success at once.
      const { payment } = await createDeposit(1_000_908n)
      await waitForCallbacks(payment, 2)
      return payments.waitForStatus(payment.paymentId, PaymentStatus.SUCCESS)
    },
    notify: (request) => gateway.notifyPayment({ ...owner, ...request }),
    resend: (request) => gateway.resendCallback({ ...owner, ...request }),
    async createEndpoint(url, events = []) {
      const endpoint_request = { merchantId, environment: Environment.TEST, url, events }
      const { endpoint, secret } = await endpoints.createEndpoint(endpoint_request)
      return { endpointId: endpoint?.endpointId ?? '', secret }
    },
    setEndpointEnabled: (endpointId, enabled) => endpoints.updateEndpoint({ endpointId, enabled }),
    waitForCallbacks,
    waitForCallback: (delivery_id) =>
      eventually(
        async () => receiver.callbacks.find(({ headers }) => headers['x-webhook-id'] === delivery_id),
        (callback) => callback !== undefined,
      ) as Promise<ReceivedCallback>,
    async listDeliveries({ paymentId }) {
      const listed = roles.client(DeliveryService, 'backoffice').listDeliveries({ merchantId, paymentId })
      return (await listed).deliveries
    },
    async [Symbol.asyncDispose]() {
      await payments[Symbol.asyncDispose]()
      await receiver.stop()
    },
  }
}
