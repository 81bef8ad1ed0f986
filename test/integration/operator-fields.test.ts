import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { EffectService } from '#gen/multihub/support/v1/effect_service_pb.ts'
import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
beforeAll(async () => {
  system = await startSupport()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const owner = { merchantId: '7001', environment: Environment.TEST }
/** A text that no key of a store holds. */
const LONG = 'x'.repeat(3_000)
const amount = { minor: 1n, currency: 'INR' }

/** An RPC with one impossible field. */
type Call = () => Promise<unknown>

// RPCs: Texts and times
describe('a text that no id is, is 9000 with its field', () => {
  const payments = () => system.operator(PaymentService)
  const tickets = () => system.operator(TicketService)
  const refunds = () => system.operator(RefundService)
  const chargebacks = () => system.operator(ChargebackService)
  const deliveries = () => system.operator(DeliveryService)
  test.each<[string, string, (id: string) => Promise<unknown>]>([
    ['GetPayment', 'payment_id', (paymentId) => payments().getPayment({ paymentId })],
    ['ListPayments', 'merchant_id', (merchantId) => payments().listPayments({ merchantId })],
    ['ListAnomalies', 'merchant_id', (merchantId) => payments().listAnomalies({ merchantId })],
    ['ResolveAnomaly', 'anomaly_id', (anomalyId) => payments().resolveAnomaly({ anomalyId })],
    [
      'ListWithdrawalRefusals',
      'merchant_id',
      (merchantId) => payments().listWithdrawalRefusals({ merchantId }),
    ],
    [
      'RetryEffect of payments',
      'payment_id',
      (paymentId) => payments().retryEffect({ paymentId, effectId: '1' }),
    ],
    ['ExplainRoute', 'merchant_id', (merchantId) => payments().explainRoute({ merchantId, serviceId: '1' })],
    ['GetTicket', 'ticket_id', (ticketId) => tickets().getTicket({ ticketId })],
    ['ListTickets', 'merchant_id', (merchantId) => tickets().listTickets({ merchantId })],
    ['ApproveRefund', 'refund_id', (refundId) => refunds().approveRefund({ refundId })],
    ['ListRefunds', 'merchant_id', (merchantId) => refunds().listRefunds({ merchantId })],
    [
      'OpenChargeback',
      'payment_id',
      (paymentId) => chargebacks().openChargeback({ paymentId, amount, reasonCode: 'r' }),
    ],
    [
      'AddEvidence',
      'attachment_id',
      (attachmentId) => chargebacks().addEvidence({ chargebackId: '1', attachmentId }),
    ],
    [
      'RetryEffect of support',
      'document_id',
      (documentId) =>
        system.operator(EffectService).retryEffect({ documents: 'tickets', documentId, effectId: '1' }),
    ],
    [
      'GetAttachment',
      'attachment_id',
      (attachmentId) => system.operator(AttachmentService).getAttachment({ ...owner, attachmentId }),
    ],
    ['GetDelivery', 'delivery_id', (deliveryId) => deliveries().getDelivery({ deliveryId })],
    ['GetReplay', 'replay_id', (replayId) => deliveries().getReplay({ replayId })],
    [
      'ListEntries',
      'payment_id',
      (paymentId) => system.operator(BalanceService).listEntries({ merchantId: '1', paymentId }),
    ],
  ])('%s, %s', async (_rpc, field, call) => {
    for (const id of [LONG, 'a\nb', 'a\0b'])
      await expect(call(id)).rejects.toMatchObject({ code: 9000, details: { description: field } })
  })
})

// RPCs: Texts and times
describe('a time that no timestamp has, is 9000 with its field', () => {
  const balances = () => system.operator(BalanceService)
  const merchant_tickets = () => system.roles.client(MerchantTicketService, 'gateway')
  const merchant_refunds = () => system.roles.client(MerchantRefundService, 'gateway')
  const merchant_chargebacks = () => system.roles.client(MerchantChargebackService, 'gateway')
  interface Bounds {
    createdFrom?: { seconds: bigint }
    createdTo?: { seconds: bigint }
  }
  const lists: Readonly<Record<string, (bounds: Bounds) => Promise<unknown>>> = {
    ListPayments: (bounds) => system.operator(PaymentService).listPayments({ merchantId: '1', ...bounds }),
    ListEntries: (bounds) => balances().listEntries({ merchantId: '1', ...bounds }),
    ExportEntries: (bounds) => balances().exportEntries({ merchantId: '1', ...bounds }),
    ListDeliveries: (bounds) =>
      system.operator(DeliveryService).listDeliveries({ merchantId: '1', ...bounds }),
    ListMerchantTickets: (bounds) => merchant_tickets().listMerchantTickets({ ...owner, ...bounds }),
    SummarizeTickets: (bounds) => merchant_tickets().summarizeTickets({ ...owner, ...bounds }),
    ListMerchantRefunds: (bounds) => merchant_refunds().listMerchantRefunds({ ...owner, ...bounds }),
    SummarizeRefunds: (bounds) => merchant_refunds().summarizeRefunds({ ...owner, ...bounds }),
    ListMerchantChargebacks: (bounds) =>
      merchant_chargebacks().listMerchantChargebacks({ ...owner, ...bounds }),
    SummarizeChargebacks: (bounds) => merchant_chargebacks().summarizeChargebacks({ ...owner, ...bounds }),
  }
  const impossible = [2n ** 60n, 8_640_000_000_001n, 253_402_300_800n, -62_135_596_801n]

  test.each(Object.entries(lists))('%s', async (_rpc, list) => {
    for (const seconds of impossible) {
      const refusal = (field: string) => ({ code: 9000, details: { description: field } })
      await expect(list({ createdFrom: { seconds } })).rejects.toMatchObject(refusal('created_from'))
      await expect(list({ createdTo: { seconds } })).rejects.toMatchObject(refusal('created_to'))
    }
    await list({ createdFrom: { seconds: -62_135_596_800n }, createdTo: { seconds: 253_402_300_799n } })
  })

  test.each<[string, string, Call]>([
    ['GetBalances', 'at', () => balances().getBalances({ ...owner, at: { seconds: -(2n ** 60n) } })],
    [
      'OpenChargeback',
      'deadline_at',
      () =>
        system.operator(ChargebackService).openChargeback({
          paymentId: '1',
          amount,
          reasonCode: 'r',
          deadlineAt: { seconds: 2n ** 60n },
        }),
    ],
  ])('%s, %s', async (_rpc, field, call) => {
    await expect(call()).rejects.toMatchObject({ code: 9000, details: { description: field } })
  })
})
