import { randomUUID } from 'node:crypto'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { update } from '#lib/patterns/update.ts'
import { openShardStops } from '../../services/balances/store/shard-stops.ts'
import { recordAnomaly } from '../../services/payments/store/anomalies.ts'
import { openSealedStore } from '../../services/payments/store/payments-store.ts'
import { returnAmountEffect } from '../../services/support/chargebacks/domain/chargeback.ts'
import { keyOfChargeback } from '../../services/support/chargebacks/store/chargebacks.ts'
import { openSupportStore } from '../../services/support/store/support-store.ts'
import { eventually } from '../support/eventually.ts'
import type { SupportClient, SupportSystem } from './support.fixture.ts'

/** A situation of an operator: what a block of commands is about, as variables that the operator sets. */
interface Situation {
  readonly variables: readonly string[]
  readonly make: Make<string>
}

/** Makes a situation for a merchant whose receiver refuses the first two tries of each callback about a payment. */
type Make<V extends string> = (
  system: SupportSystem,
  shop: SupportClient,
  receiver_url: string,
) => Promise<Readonly<Record<V, string>>>

const situation = <V extends string>(variables: readonly V[], make: Make<V>): Situation => ({
  variables,
  make,
})

/** A deposit that stays pending, and its amount as the command line takes it. */
const PENDING = { minor: 700_905, text: '7009.05 INR' }
const INR = 'INR'

/** A block of commands runs in the first situation that has all of its variables. */
export const SITUATIONS: readonly Situation[] = [
  situation(['PAYMENT_ID'], paidDeposit),
  situation(['PAYMENT_ID', 'DELIVERY_ID', 'ENDPOINT_ID'], deadDelivery),
  situation(['PAYMENT_ID', 'ANOMALY_ID', 'AMOUNT'], openAnomaly),
  situation(['PAYMENT_ID', 'REFUND_ID'], pendingRefund),
  situation(['PAYMENT_ID', 'EFFECT_ID'], stuckCredit),
  situation(['PAYMENT_ID', 'CHARGEBACK_ID', 'EFFECT_ID'], stuckReturn),
  situation(['VERIFICATION_ID'], stoppedShard),
]

/** The variables of every situation. */
export const shopVariables = (shop: SupportClient) => ({
  MERCHANT_ID: shop.merchant_id,
  SERVICE_ID: String(shop.service_id),
  APPLICATION_ID: shop.application_id,
  // No payment of the situations needs this account.
  ACCOUNT_ID: 'sandbox-down',
})

const ownerOf = ({ merchant_id }: SupportClient) => ({
  merchantId: merchant_id,
  environment: Environment.TEST,
})

/** A deposit that was paid. */
async function paidDeposit(_system: SupportSystem, shop: SupportClient) {
  const { h_id } = await shop.deposit()
  return { PAYMENT_ID: h_id }
}

/** A callback that its receiver did not take. */
async function deadDelivery({ operator }: SupportSystem, shop: SupportClient, url: string) {
  const owner = ownerOf(shop)
  const { endpoint } = await operator(EndpointService).createEndpoint({
    ...owner,
    url,
    events: ['payment.completed'],
    maxRetries: 1,
    retryDelaySeconds: 1,
  })
  const { h_id } = await shop.deposit()
  const delivery = await eventually(
    async () => (await operator(DeliveryService).listDeliveries(owner)).deliveries[0],
    (found) => found?.status === DeliveryStatus.DEAD,
  )
  return {
    PAYMENT_ID: h_id,
    DELIVERY_ID: delivery?.deliveryId ?? '',
    ENDPOINT_ID: endpoint?.endpointId ?? '',
  }
}

/** An open deposit whose provider has reported another amount. */
async function openAnomaly({ roles }: SupportSystem, shop: SupportClient) {
  const { h_id: payment_id } = await shop.deposit(PENDING.minor)
  const anomaly_id = randomUUID()
  const { anomalies } = await openSealedStore(roles.storeOf('payments'))
  await recordAnomaly(anomalies, {
    anomaly_id,
    merchant_id: shop.merchant_id,
    environment: 'test',
    payment_id,
    kind: 'amount_differs',
    description: 'the provider reported 700.00 INR',
    created_at: new Date(),
  })
  return {
    PAYMENT_ID: payment_id,
    ANOMALY_ID: anomaly_id,
    AMOUNT: PENDING.text,
  }
}

/** A refund that waits for the operator. */
async function pendingRefund(_system: SupportSystem, shop: SupportClient) {
  const { c_id, h_id } = await shop.deposit()
  const { body } = await shop.call('refund.request', {
    identifiers: { c_id: randomUUID() },
    payment: { c_id },
    amount: '300',
    reason: 'damaged',
  })
  return {
    PAYMENT_ID: h_id,
    REFUND_ID: body.result.identifiers.h_id,
  }
}

/** A deposit whose credit the ledger refuses, because the balance would pass 2^63-1. */
async function stuckCredit({ operator }: SupportSystem, shop: SupportClient) {
  await operator(BalanceService).adjust({
    ...ownerOf(shop),
    currency: INR,
    amount: { minor: 2n ** 63n - 6n },
    reason: 'as much as fits',
    operationId: randomUUID(),
  })
  const { h_id } = await shop.deposit()
  const effect = await eventually(
    async () =>
      (await operator(PaymentService).listStuckEffects({})).effects.find(
        ({ paymentId }) => paymentId === h_id,
      ),
    (found) => found !== undefined,
  )
  return { PAYMENT_ID: h_id, EFFECT_ID: effect?.effectId ?? '' }
}

/** The shard of the page, stopped by a verification that found its second batch altered. */
async function stoppedShard({ roles }: SupportSystem) {
  const stops = await openShardStops(roles.storeOf('balances'))
  const verification_id = randomUUID()
  const found_at = new Date()
  await stops.update(7, () => ({
    shard: 7,
    seq: 2n,
    description: 'altered',
    verification_id,
    found_at,
    stopped_since: found_at,
    operation_ids: [],
  }))
  return { VERIFICATION_ID: verification_id }
}

/** A chargeback that was won, whose credit has used up its tries while payments could not be reached. */
async function stuckReturn(system: SupportSystem, shop: SupportClient) {
  const { operator, roles } = system
  const { h_id } = await shop.deposit()
  const { chargeback } = await operator(ChargebackService).openChargeback({
    paymentId: h_id,
    amount: { minor: 900n, currency: INR },
    reasonCode: '10.4',
    operationId: randomUUID(),
  })
  const chargeback_id = chargeback?.chargebackId ?? ''
  const { chargebacks } = await openSupportStore(roles.storeOf('support'))
  const key = keyOfChargeback({ merchant_id: shop.merchant_id, environment: 'test', chargeback_id })
  await eventually(
    () => chargebacks.get(key),
    (found) => found !== undefined,
  )
  let effect_id = ''
  roles.setStoreUnavailable('payments', true)
  try {
    await operator(ChargebackService).moveChargeback({
      chargebackId: chargeback_id,
      status: ChargebackStatus.WON,
    })
    await update(chargebacks, key, (current) => {
      const { money_due_at: _due, ...document } = current
      const effects = document.effects.map(({ lease: _lease, ...effect }) => {
        if (!returnAmountEffect.matches(effect)) return effect
        effect_id = effect.id
        return { ...effect, tries: 3_000, stuck: true, failure: 'Unavailable' }
      })
      return { ...document, effects, stuck_at: new Date() }
    })
  } finally {
    roles.setStoreUnavailable('payments', false)
  }
  return {
    PAYMENT_ID: h_id,
    CHARGEBACK_ID: chargeback_id,
    EFFECT_ID: effect_id,
  }
}
