import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { History } from '../../simulation/workload/history.ts'
import type { SimulatedMerchant } from '../../simulation/workload/merchants.ts'
import type { ReceivedCallback } from '../../simulation/world/receiver.ts'
import { mapConcurrently, readAll, retry } from './calls.ts'
import type { Facts } from './evidence.ts'
import { sandboxOperationsOf } from './sandbox-records.ts'

/** Where the facts of a run are. */
export interface Sources {
  readonly operator: ClientOf
  readonly sandbox_url: string
  readonly sandbox_key: string
  readonly history: History
  readonly merchants: readonly SimulatedMerchant[]
  readonly callbacks: readonly ReceivedCallback[]
}

const LOOKUPS = 16
const PAGE = { pageSize: 100 } as const

/** Reads the facts of a run: over the operator's RPCs, and from the sandbox and the receivers. */
export async function collectFacts(sources: Sources): Promise<Facts> {
  const { operator, merchants, sandbox_url, sandbox_key } = sources
  const payments_service = operator(PaymentService)
  const ofMerchants = async <T>(
    readPage: (merchant: { merchantId: string; pageToken: string }) => Promise<{
      readonly items: readonly T[]
      readonly nextPageToken: string
    }>,
  ): Promise<readonly T[]> => {
    const lists = merchants.map(({ merchant_id: merchantId }) =>
      readAll((pageToken) => readPage({ merchantId, pageToken })),
    )
    return (await Promise.all(lists)).flat()
  }
  const payments = await ofMerchants(async (page) => {
    const { payments: items, nextPageToken } = await payments_service.listPayments({ ...page, ...PAGE })
    return { items, nextPageToken }
  })
  const stuck = await readAll(async (pageToken) => {
    const { effects: items, nextPageToken } = await payments_service.listStuckEffects({ ...PAGE, pageToken })
    return { items, nextPageToken }
  })
  const anomalies = await readAll(async (pageToken) => {
    const page = await payments_service.listAnomalies({ ...PAGE, pageToken })
    return { items: page.anomalies, nextPageToken: page.nextPageToken }
  })
  const entries = await ofMerchants(async (page) => {
    const request = { ...page, ...PAGE, environment: Environment.TEST }
    const { entries: items, nextPageToken } = await operator(BalanceService).listEntries(request)
    return { items, nextPageToken }
  })
  const deliveries = await ofMerchants(async (page) => {
    const { deliveries: items, nextPageToken } = await operator(DeliveryService).listDeliveries({
      ...page,
      ...PAGE,
    })
    return { items, nextPageToken }
  })
  const refunds = await ofMerchants(async (page) => {
    const { refunds: items, nextPageToken } = await operator(RefundService).listRefunds({ ...page, ...PAGE })
    return { items, nextPageToken }
  })
  const refusals = await ofMerchants(async (page) => {
    const answer = await payments_service.listWithdrawalRefusals({ ...page, ...PAGE })
    return { items: answer.refusals, nextPageToken: answer.nextPageToken }
  })
  const refunds_of = Map.groupBy(refunds, ({ paymentId }) => paymentId)
  const operations = await mapConcurrently(payments, LOOKUPS, (payment) =>
    retry(() =>
      sandboxOperationsOf(sandbox_url, sandbox_key, payment, refunds_of.get(payment.paymentId) ?? []),
    ),
  )
  const { history, callbacks } = sources
  return {
    payments,
    stuck,
    anomalies,
    entries,
    deliveries,
    refunds,
    refusals,
    operations: operations.flat(),
    history,
    callbacks,
    merchants,
  }
}
