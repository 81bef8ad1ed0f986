import type { MessageInitShape } from '@bufbuild/protobuf'
import type { OpenItemsSchema } from '#gen/multihub/common/v1/open_items_pb.ts'
import { now } from '#lib/base/time.ts'
import { addOpenItems, countOpen, openItems } from '#lib/patterns/open-items.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import type { PaymentCount, PaymentSlot } from '../domain/payment-counts.ts'
import type { PaymentCounter } from './count-payments.ts'
import { listUnconfiguredAccounts, type UnconfiguredAccountsDeps } from './list-unconfigured-accounts.ts'

/** What the summary needs. */
export interface SummarizePaymentsDeps extends UnconfiguredAccountsDeps {
  readonly anomalies: Collection<Anomaly>
  readonly counter: Pick<PaymentCounter, 'read'>
}

type OpenItems = MessageInitShape<typeof OpenItemsSchema>

/** What waits for the operator over all merchants, and how many payments entered which status. */
export interface PaymentsSummary {
  readonly open_anomalies: OpenItems
  readonly stuck_effects: OpenItems
  /** As this process sees the provider accounts. */
  readonly open_breakers: OpenItems
  /** The payments, open or with an open refund, at accounts that this process is not configured for. */
  readonly unconfigured_payments: OpenItems
  readonly last_hour: readonly PaymentCount[]
  readonly last_day: readonly PaymentCount[]
  readonly slots_last_hour: readonly PaymentSlot[]
  readonly slots_last_day: readonly PaymentSlot[]
  readonly computed_at: Date
}

/** Computes the summary: the reads of what is open, and the roll-ups of a day. */
export async function summarizePayments(deps: SummarizePaymentsDeps): Promise<PaymentsSummary> {
  const computed_at = now()
  const [open_anomalies, stuck_effects, unconfigured, counts] = await Promise.all([
    countOpen(deps.anomalies, [{ index: 'by_open', fixed: {} }], ({ open_since }) => open_since),
    countOpen(deps.payments, [{ index: 'by_stuck', fixed: {} }], ({ stuck_at }) => stuck_at),
    listUnconfiguredAccounts(deps),
    deps.counter.read(computed_at),
  ])
  const breakers = deps.accounts
    .map(({ breaker }) => breaker.status())
    .filter(({ state }) => state !== 'closed')
  return {
    open_anomalies,
    stuck_effects,
    open_breakers: openItems(
      breakers.length,
      breakers.map(({ since }) => since),
    ),
    unconfigured_payments: addOpenItems(unconfigured.map(({ open_payments }) => open_payments)) ?? {
      count: 0,
    },
    ...counts,
    computed_at,
  }
}
