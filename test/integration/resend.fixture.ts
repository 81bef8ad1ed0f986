import type { Client } from '@connectrpc/connect'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import type { Delivery } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { webhookContext } from '#lib/contract/sealing-contexts.ts'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import {
  type DepositOptions,
  type PaymentsSystem,
  startPayments,
} from '../../services/payments/payments-system.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'

type NotifyInit = Parameters<Client<typeof PaymentService>['notifyPayment']>[0]
type ResendInit = Parameters<Client<typeof PaymentService>['resendCallback']>[0]

/** Payments with the real notifier, and a merchant's receiver. */
export interface ResendSystem extends AsyncDisposable {
  readonly payments: PaymentsSystem
  readonly receiver: Receiver
  /** A deposit that calls back to the receiver; answers the secret that signs there. */
  ownDeposit(amount: bigint, more?: DepositOptions): Promise<{ payment: Payment; secret: string }>
  /** A deposit that was paid, and whose two automatic callbacks came. */
  paidDeposit(): Promise<Payment>
  notify(request: NotifyInit): ReturnType<Client<typeof PaymentService>['notifyPayment']>
  resend(request: ResendInit): ReturnType<Client<typeof PaymentService>['resendCallback']>
  /** Gives the merchant an endpoint at a URL; answers its id and its secret. */
  addEndpoint(url: string, events?: string[]): Promise<{ endpointId: string; secret: string }>
  switchEndpoint(endpointId: string, enabled: boolean): Promise<unknown>
  /** The callbacks about a payment when so many have come. */
  callbacks(payment: Payment, count: number): Promise<readonly ReceivedCallback[]>
  /** The callback with this `X-Webhook-Id` when it has come. */
  callback(delivery_id: string | undefined): Promise<ReceivedCallback>
  deliveries(payment: Payment): Promise<readonly Delivery[]>
}

/** The owner of another payment; it has none of its own. */
export async function anotherMerchant({ roles }: PaymentsSystem): Promise<string> {
  const wanted = { name: 'other', timezone: 'Asia/Kolkata', environments: [Environment.TEST] }
  const { merchant } = await roles.client(MerchantService, 'operator').createMerchant(wanted)
  return merchant?.merchantId ?? ''
}

/** Starts it. */
export async function startResend(): Promise<ResendSystem> {
  const payments = await startPayments({ notifier })
  const receiver = await startReceiver()
  const { roles, merchant_id: merchantId } = payments
  const owner = { merchantId, environment: Environment.TEST, payloadHash: 'the only payload' }
  const gateway = roles.client(PaymentService, 'gateway')
  const endpoints = roles.client(EndpointService, 'operator')
  const ownDeposit: ResendSystem['ownDeposit'] = async (amount, more = {}) => {
    const c_id = more.c_id ?? uuidv7()
    const secret = newSecret()
    const sealedSecret = roles.keyring.seal(secret, webhookContext({ merchant_id: merchantId, c_id }))
    const request = { webhook: { url: receiver.url, sealedSecret }, ...more.request }
    return { payment: await payments.deposit(amount, { ...more, c_id, request }), secret: secret.reveal() }
  }
  const callbacks: ResendSystem['callbacks'] = ({ cId }, count) =>
    eventually(
      async () => receiver.of(cId),
      (seen = []) => seen.length >= count,
    )
  return {
    payments,
    receiver,
    ownDeposit,
    async paidDeposit() {
      const { payment } = await ownDeposit(1_000_908n)
      await callbacks(payment, 2)
      return payments.reaches(payment.paymentId, PaymentStatus.SUCCESS)
    },
    notify: (request) => gateway.notifyPayment({ ...owner, ...request }),
    resend: (request) => gateway.resendCallback({ ...owner, ...request }),
    async addEndpoint(url, events = []) {
      const wanted = { merchantId, environment: Environment.TEST, url, events }
      const { endpoint, secret } = await endpoints.createEndpoint(wanted)
      return { endpointId: endpoint?.endpointId ?? '', secret }
    },
    switchEndpoint: (endpointId, enabled) => endpoints.updateEndpoint({ endpointId, enabled }),
    callbacks,
    callback: (delivery_id) =>
      eventually(
        async () => receiver.callbacks.find(({ headers }) => headers['x-webhook-id'] === delivery_id),
        (seen) => seen !== undefined,
      ) as Promise<ReceivedCallback>,
    async deliveries({ paymentId }) {
      const listed = roles.client(DeliveryService, 'operator').listDeliveries({ merchantId, paymentId })
      return (await listed).deliveries
    },
    async [Symbol.asyncDispose]() {
      await payments[Symbol.asyncDispose]()
      await receiver.stop()
    },
  }
}
