import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentExplanationService } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { clock, sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { History } from '../simulation/workload/history.ts'
import type { SimulatedMerchant } from '../simulation/workload/merchants.ts'
import { isFinalStatus } from '../simulation/workload/observe.ts'
import type { PublicApi } from '../simulation/workload/public-api.ts'
import { mapConcurrently, readAll, retry } from './judge/calls.ts'
import { COMMANDS_CURRENCY, filesHaveEnded } from './judge/later-ends.ts'
import type { Timeline } from './workload/timeline.ts'

/** Within this time after the last fault everything is final: expired leases, the longest back-off, some retries. */
const SETTLE_LIMIT_MS = 240_000

const READS = 8
const NOT_FOUND = 6010

/** What settling reads. */
export interface SettleDeps {
  readonly api: PublicApi
  readonly operator: ClientOf
  readonly history: History
  readonly timeline: Timeline
  readonly merchants: readonly SimulatedMerchant[]
}

/**
 * Waits until every payment is final and its events are sent, every delivery and every finalized file has ended, and nothing
 * holds funds, but not longer than the limit. Returns the time.
 */
export async function settle(deps: SettleDeps): Promise<number> {
  const { history, timeline } = deps
  const began_ms = clock.monotonic_ms()
  const end_ms = began_ms + SETTLE_LIMIT_MS
  const sent = new Set<string>()
  let open = [...history.payments.keys()].filter((key) => !timeline.final_ms.has(key))
  while (clock.monotonic_ms() < end_ms) {
    const are_open = await mapConcurrently(
      open,
      READS,
      async (key) => [key, await isOpen(deps, key)] as const,
    )
    open = are_open.filter(([, is_open]) => is_open).map(([key]) => key)
    const is_settled =
      open.length === 0 &&
      !(await hasPendingDeliveries(deps)) &&
      !(await hasHeldFunds(deps)) &&
      !(await hasUnsentEvents(deps, sent)) &&
      (await filesHaveEnded(deps.api, deps)).length === 0
    if (is_settled) break
    await sleep(500)
  }
  return clock.monotonic_ms() - began_ms
}

async function isOpen({ api, history, merchants }: SettleDeps, key: string): Promise<boolean> {
  const record = history.payments.get(key)
  const merchant = merchants.find(({ merchant_id }) => merchant_id === record?.merchant_id)
  const credential = merchant?.credentials[0]
  if (record === undefined || credential === undefined) return false
  const params = { payment: { identifiers: { c_id: record.c_id } } }
  const outcome = await api.call(credential, { method: 'payment.status', params })
  if (outcome.kind === 'error') return outcome.code !== NOT_FOUND
  if (outcome.kind === 'none') return true
  return !isFinalStatus((outcome.result['payment'] as { status: { status: string } }).status.status)
}

async function hasPendingDeliveries({ operator, merchants }: SettleDeps): Promise<boolean> {
  for (const { merchant_id: merchantId } of merchants) {
    const pending = await readAll(async (pageToken) => {
      const page = await operator(DeliveryService).listDeliveries({
        merchantId,
        pageToken,
        pageSize: 100,
        environment: Environment.TEST,
        status: DeliveryStatus.PENDING,
      })
      return { items: page.deliveries, nextPageToken: page.nextPageToken }
    })
    if (pending.length > 0) return true
  }
  return false
}

/** Whether a withdrawal or a refund is on its way. */
async function hasHeldFunds({ operator, merchants }: SettleDeps): Promise<boolean> {
  for (const { merchant_id: merchantId, environment } of merchants) {
    const { balances } = await retry(() => operator(BalanceService).getBalances({ merchantId, environment }))
    if (balances.some(({ currency, held }) => currency !== COMMANDS_CURRENCY && held > 0n)) return true
  }
  return false
}

/**
 * Whether the event of a final payment waits, as for an entry whose answer was lost. `sent` has the payments of which none does.
 */
async function hasUnsentEvents({ operator, merchants }: SettleDeps, sent: Set<string>): Promise<boolean> {
  for (const { merchant_id: merchantId } of merchants) {
    const payments = await readAll(async (pageToken) => {
      const page = await operator(PaymentService).listPayments({ merchantId, pageToken, pageSize: 100 })
      return { items: page.payments, nextPageToken: page.nextPageToken }
    })
    const unknown = payments.map(({ paymentId }) => paymentId).filter((id) => !sent.has(id))
    await mapConcurrently(unknown, READS, async (paymentId) => {
      const { events } = await retry(() => operator(PaymentExplanationService).explainPayment({ paymentId }))
      if (events.every(({ published }) => published)) sent.add(paymentId)
    })
    if (unknown.some((id) => !sent.has(id))) return true
  }
  return false
}
